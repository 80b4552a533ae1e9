//! Estimators whose type is known only at run time, such as one that is chosen by name.

use std::any::Any;
use std::cell::OnceCell;
use std::{convert, fmt};

use faer::Mat;
use mcsa_core::{Ensemble, Error, Estimator, Metric, Record, Stream};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned, ser::Error as _};
use serde_json::Value;

/// Estimator of any type, for targets `P` and families `F`. It makes the same steps to the bit, with one virtual call per step.
///
/// ```
/// use mcsa_estimators::{DynEstimator, pmcsa, snis};
/// type Chosen = DynEstimator<'static, mcsa_models::Gaussian, mcsa_families::MeanField>;
/// let by_name = |name: &str| -> Chosen {
///     if name == "pmcsa" { DynEstimator::new(pmcsa(10)) } else { DynEstimator::new(snis(10)) }
/// };
/// assert!(format!("{:?}", by_name("snis")).starts_with("ScoreWeights"));
/// ```
pub struct DynEstimator<'e, P: ?Sized, F: ?Sized>(
    Box<dyn Estimator<P, F, State = DynState, Info = DynInfo> + 'e>,
);

impl<'e, P: ?Sized, F: ?Sized> DynEstimator<'e, P, F> {
    /// An estimator without its type.
    pub fn new<E: Estimator<P, F> + 'e>(estimator: E) -> Self {
        Self(Box::new(Erased { estimator, view: Same }))
    }

    /// An estimator that sees `family` in place of the family of the ascent. Both are views of one distribution with the same lambda:
    /// estimators that differ in what they require of a family, such as a density and a pushforward, thus get one type.
    pub fn on<G: Sync + ?Sized, E: Estimator<P, G> + 'e>(estimator: E, family: &'e G) -> Self {
        Self(Box::new(Erased { estimator, view: Other(family) }))
    }
}

impl<P: ?Sized, F: ?Sized> fmt::Debug for DynEstimator<'_, P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.config())
    }
}

/// Family that an estimator sees.
trait View<F: ?Sized>: Send + Sync {
    type Seen: ?Sized;

    fn of<'f>(&'f self, family: &'f F) -> &'f Self::Seen;
}

struct Same;

impl<F: ?Sized> View<F> for Same {
    type Seen = F;

    fn of<'f>(&'f self, family: &'f F) -> &'f F {
        family
    }
}

struct Other<'e, G: ?Sized>(&'e G);

impl<F: ?Sized, G: Sync + ?Sized> View<F> for Other<'_, G> {
    type Seen = G;

    fn of<'f>(&'f self, _: &'f F) -> &'f G {
        self.0
    }
}

struct Erased<E, V> {
    estimator: E,
    view: V,
}

/// Methods of `Estimator<P, F>` that pass on questions to `$inner`, with the family and the state changed on the way.
macro_rules! questions {
    ($self:ident => $inner:expr, $family:ident => $seen:expr, $state:ident => $own:expr) => {
        fn num_params(&$self, target: &P, $family: &F) -> usize {
            $inner.num_params(target, $seen)
        }

        fn check_params(&$self, target: &P, $family: &F, params: &[f64]) -> Result<(), Error> {
            $inner.check_params(target, $seen, params)
        }

        fn lanes(&$self) -> usize {
            $inner.lanes()
        }

        fn verify(&$self, target: &P, $family: &F, $state: &Self::State) -> Result<(), Error> {
            $inner.verify(target, $seen, $own?)
        }

        fn family_config(&$self, $family: &F) -> String {
            $inner.family_config($seen)
        }

        fn chains<'s>(&$self, $state: &'s Self::State) -> Option<&'s Ensemble> {
            $inner.chains($own.ok()?)
        }
    };
}
pub(crate) use questions;

/// As [`questions`], with all other methods.
macro_rules! forwarded {
    ($self:ident => $inner:expr, $family:ident => $seen:expr, $state:ident => $own:expr, $own_mut:expr, $made:expr, $info:expr) => {
        type State = DynState;
        type Info = DynInfo;

        questions!($self => $inner, $family => $seen, $state => $own);

        fn work_len(&$self, target: &P, $family: &F) -> usize {
            $inner.work_len(target, $seen)
        }

        fn init(&$self, target: &P, $family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<DynState, Error> {
            Ok($made($inner.init(target, $seen, params, lanes)?))
        }

        fn init_at(
            &$self,
            target: &P,
            $family: &F,
            params: &[f64],
            positions: Mat<f64>,
            lanes: &mut [Stream],
        ) -> Result<DynState, Error> {
            Ok($made($inner.init_at(target, $seen, params, positions, lanes)?))
        }

        fn check(&$self, target: &P, $family: &F, $state: &DynState) -> Result<(), Error> {
            $inner.check(target, $seen, $own?)
        }

        fn config(&$self) -> String {
            $inner.config()
        }

        fn ascent_direction(
            &$self,
            target: &P,
            $family: &F,
            params: &[f64],
            $state: &mut DynState,
            lanes: &mut [Stream],
            direction: &mut [f64],
            work: &mut [f64],
        ) -> Result<DynInfo, Error> {
            Ok($info($inner.ascent_direction(target, $seen, params, $own_mut?, lanes, direction, work)?))
        }
    };
}

impl<P: ?Sized, F: ?Sized, V: View<F>, E: Estimator<P, V::Seen>> Estimator<P, F> for Erased<E, V> {
    forwarded!(
        self => self.estimator, family => self.view.of(family),
        state => state.get(), state.get_mut(), DynState::new, DynInfo::of
    );
}

impl<P: ?Sized, F: ?Sized> Estimator<P, F> for DynEstimator<'_, P, F> {
    forwarded!(
        self => self.0, family => family,
        state => Ok::<_, Error>(state), Ok::<_, Error>(state), convert::identity, convert::identity
    );
}

/// State of an estimator of any type.
///
/// The state in a file is plain data until an estimator first uses it and thereby gives it a type: in
/// [`Ascent::run`](crate::Ascent::run), which returns an error if the state is that of another estimator.
pub struct DynState {
    live: OnceCell<Box<dyn AnyState>>,
    /// Contents of a file; `None` for a state that an estimator made.
    read: Option<Value>,
}

/// A state that can be stored and has a type.
trait AnyState: Any + Send {
    fn value(&self) -> Result<Value, serde_json::Error>;
}

impl<S: Serialize + Any + Send> AnyState for S {
    fn value(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }
}

impl DynState {
    fn new<S: Serialize + Send + 'static>(state: S) -> Self {
        let state: Box<dyn AnyState> = Box::new(state);
        Self { live: OnceCell::from(state), read: None }
    }

    /// The state as one of type `S`.
    fn get<S: Serialize + DeserializeOwned + Send + 'static>(&self) -> Result<&S, Error> {
        if let (None, Some(read)) = (self.live.get(), &self.read) {
            let state = S::deserialize(read).map_err(|error| {
                Error::invalid(format!("the file holds the state of another estimator: {error}"))
            })?;
            // The cell is empty, as was seen above.
            let _ = self.live.set(Box::new(state));
        }
        let state = self.live.get().and_then(|state| (&**state as &dyn Any).downcast_ref());
        state.ok_or_else(|| Error::invalid("the state is that of another estimator"))
    }

    fn get_mut<S: Serialize + DeserializeOwned + Send + 'static>(&mut self) -> Result<&mut S, Error> {
        if self.read.is_some() {
            self.get::<S>()?;
            self.read = None;
        }
        let state = self.live.get_mut().and_then(|state| (&mut **state as &mut dyn Any).downcast_mut());
        state.ok_or_else(|| Error::invalid("the state is that of another estimator"))
    }

    fn value(&self) -> Result<Value, serde_json::Error> {
        match (self.live.get(), &self.read) {
            (Some(state), _) => state.value(),
            (None, read) => Ok(read.clone().unwrap_or_default()),
        }
    }
}

/// Two states are equal if a file would hold the same of both.
impl PartialEq for DynState {
    fn eq(&self, other: &Self) -> bool {
        matches!((self.value(), other.value()), (Ok(a), Ok(b)) if a == b)
    }
}

impl fmt::Debug for DynState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DynState").field(&self.value()).finish()
    }
}

impl Serialize for DynState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DynState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { live: OnceCell::new(), read: Some(Value::deserialize(deserializer)?) })
    }
}

/// Most metrics of a step; the number of further ones is recorded as [`Metric::UNTOLD`].
const ROOM: usize = 32;

/// Metrics of a step of an estimator of any type.
#[derive(Debug, Clone, Copy)]
pub struct DynInfo {
    metrics: [(Metric, f64); ROOM],
    len: usize,
    untold: u32,
}

impl Default for DynInfo {
    fn default() -> Self {
        Self { metrics: [(Metric::UNTOLD, 0.0); ROOM], len: 0, untold: 0 }
    }
}

impl DynInfo {
    pub(crate) fn of(info: impl Record) -> Self {
        let mut all = Self::default();
        info.record(&mut |metric, value| match all.metrics.get_mut(all.len) {
            _ if metric == Metric::UNTOLD => all.untold += value as u32,
            Some(place) => {
                *place = (metric, value);
                all.len += 1;
            }
            None => all.untold += 1,
        });
        all
    }
}

impl Record for DynInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        self.metrics[..self.len].iter().for_each(|(metric, value)| sink(*metric, *value));
        if self.untold > 0 {
            sink(Metric::UNTOLD, f64::from(self.untold));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table whose inner table was full too: the numbers of both count.
    #[test]
    fn metrics_without_room_are_counted_through_tables() {
        struct Many(usize);
        impl Record for Many {
            fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
                (0..self.0).for_each(|_| sink(Metric::NON_FINITE, 1.0));
            }
        }
        let untold = |info: DynInfo| {
            let mut found: Vec<f64> = Vec::new();
            info.record(&mut |metric, value| found.extend((metric == Metric::UNTOLD).then_some(value)));
            found
        };
        let inner = DynInfo::of(Many(ROOM + 3));
        assert_eq!(untold(inner), [3.0]);
        assert_eq!(untold(DynInfo::of(inner)), [3.0]);
        assert!(untold(DynInfo::of(Many(ROOM))).is_empty());
    }
}
