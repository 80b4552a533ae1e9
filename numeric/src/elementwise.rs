use super::lanes::{Backend, Kernel, Lanes, Pair, Register, apart, together};

/// Elementwise function, generic over SIMD lanes. The result of a lane must not depend on other lanes.
pub(crate) trait Map {
    fn apply<L: Lanes>(lanes: L, x: L::F) -> L::F;
}

#[inline(always)]
fn two<F: Map, L: Lanes>(lanes: L, [a, b]: [L::F; 2]) -> [L::F; 2] {
    let (a, b) = F::apply(Pair(lanes), (a, b));
    [a, b]
}

#[inline(always)]
fn four<F: Map, L: Lanes>(lanes: L, x: [L::F; 4]) -> [L::F; 4] {
    together(F::apply(Pair(Pair(lanes)), apart(x)))
}

struct InPlace<'a, F> {
    x: &'a mut [f64],
    map: F,
}

impl<F: Map> Kernel for InPlace<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Register>(self, lanes: L) {
        let _ = self.map;
        let (mut body, tail) = L::as_mut_simd_f64s(self.x);
        if L::WIDE {
            let (quads, rest) = body.as_chunks_mut::<4>();
            for v in quads {
                *v = four::<F, L>(lanes, *v);
            }
            body = rest;
        }
        let (pairs, last) = body.as_chunks_mut::<2>();
        for v in pairs {
            *v = two::<F, L>(lanes, *v);
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

struct Single<F> {
    x: f64,
    map: F,
}

impl<F: Map> Kernel for Single<F> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Register>(self, lanes: L) -> f64 {
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
    out.copy_from_slice(x);
    in_place(backend, map, out);
}

#[inline]
pub(crate) fn single<F: Map>(backend: Backend, map: F, x: f64) -> f64 {
    backend.run(Single { x, map })
}

/// Declares a [`Map`] by its value on lanes, and `name(&mut [f64])`, `name_into(&[f64], &mut [f64])` and `Backend::name` from it.
macro_rules! elementwise {
    ($($(#[$doc:meta])* $name:ident, $into:ident, $map:ident = |$l:ident, $x:ident| $value:expr;)+) => {$(
        pub(crate) struct $map;

        impl $crate::elementwise::Map for $map {
            #[inline(always)]
            fn apply<L: $crate::lanes::Lanes>($l: L, $x: L::F) -> L::F {
                $value
            }
        }

        $crate::lanes::on_backends! {
            $(#[$doc])*
            fn $name($x: &mut [f64]) {
                |backend| $crate::elementwise::in_place(backend, $map, $x)
            }
        }

        #[doc = concat!("[`", stringify!($name), "`] of `x`, written to `out`.")]
        #[inline]
        pub fn $into(x: &[f64], out: &mut [f64]) {
            $crate::elementwise::into($crate::Backend::best(), $map, x, out);
        }
    )+};
}
pub(crate) use elementwise;
