use super::backend::{Backend, Kernel};
use super::lanes::Lanes;

/// A function of one number, written over lanes. No lane may depend on another.
pub(crate) trait Map {
    fn apply<L: Lanes>(lanes: L, x: L::f64s) -> L::f64s;
}

struct InPlace<'a, F> {
    x: &'a mut [f64],
    map: F,
}

impl<F: Map> Kernel for InPlace<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let _ = self.map;
        let (body, tail) = L::as_mut_simd_f64s(self.x);
        let (pairs, last) = body.as_chunks_mut::<2>();
        for [a, b] in pairs {
            *a = F::apply(lanes, *a);
            *b = F::apply(lanes, *b);
        }
        for v in last {
            *v = F::apply(lanes, *v);
        }
        if !tail.is_empty() {
            let v = F::apply(lanes, lanes.partial_load_f64s(tail));
            lanes.partial_store_f64s(tail, v);
        }
    }
}

struct Into<'a, F> {
    x: &'a [f64],
    out: &'a mut [f64],
    map: F,
}

impl<F: Map> Kernel for Into<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let _ = self.map;
        let (body, tail) = L::as_simd_f64s(self.x);
        let (out_body, out_tail) = L::as_mut_simd_f64s(self.out);
        for (o, &v) in out_body.iter_mut().zip(body) {
            *o = F::apply(lanes, v);
        }
        if !tail.is_empty() {
            let v = F::apply(lanes, lanes.partial_load_f64s(tail));
            lanes.partial_store_f64s(out_tail, v);
        }
    }
}

struct Single<F> {
    x: f64,
    map: F,
}

impl<F: Map> Kernel for Single<F> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> f64 {
        let _ = self.map;
        let y = F::apply(lanes, lanes.num(self.x));
        bytemuck::cast_slice::<L::f64s, f64>(core::slice::from_ref(&y))[0]
    }
}

#[inline]
pub(crate) fn in_place<F: Map>(backend: Backend, map: F, x: &mut [f64]) {
    backend.run(InPlace { x, map });
}

#[inline]
pub(crate) fn into<F: Map>(backend: Backend, map: F, x: &[f64], out: &mut [f64]) {
    assert_eq!(x.len(), out.len(), "input and output differ in length");
    backend.run(Into { x, out, map });
}

#[inline]
pub(crate) fn single<F: Map>(map: F, x: f64) -> f64 {
    Backend::best().run(Single { x, map })
}

/// Declares `name(&mut [f64])`, `name_into(&[f64], &mut [f64])` and `Backend::name` from one [`Map`].
macro_rules! elementwise {
    ($(#[$doc:meta])* $name:ident, $into:ident, $map:ident) => {
        $(#[$doc])*
        #[inline]
        pub fn $name(x: &mut [f64]) {
            $crate::numeric::elementwise::in_place($crate::numeric::Backend::best(), $map, x);
        }

        #[doc = concat!("[`", stringify!($name), "`] of `x`, written to `out`.")]
        ///
        /// # Panics
        /// When the lengths differ.
        #[inline]
        pub fn $into(x: &[f64], out: &mut [f64]) {
            $crate::numeric::elementwise::into($crate::numeric::Backend::best(), $map, x, out);
        }

        impl $crate::numeric::Backend {
            #[doc = concat!("[`", stringify!($name), "`](crate::numeric::", stringify!($name), ") on these instructions.")]
            #[inline]
            pub fn $name(self, x: &mut [f64]) {
                $crate::numeric::elementwise::in_place(self, $map, x);
            }
        }
    };
}
pub(crate) use elementwise;
