use super::lanes::Lanes;

/// Two sets of lanes processed together, operation by operation, for instruction-level parallelism.
///
/// The elementary functions are chains of dependent operations, several times longer than the instruction window of the processor;
/// while one set waits for a result, an operation on the other set is issued.
#[derive(Clone, Copy)]
pub(crate) struct Pair<L>(pub(crate) L);

/// The numbers of a `Pair` of `Pair`s.
type Four<T> = ((T, T), (T, T));

#[inline(always)]
pub(crate) fn apart<T>([a, b, c, d]: [T; 4]) -> Four<T> {
    ((a, b), (c, d))
}

#[inline(always)]
pub(crate) fn together<T>(((a, b), (c, d)): Four<T>) -> [T; 4] {
    [a, b, c, d]
}

macro_rules! both {
    ($($name:ident($($arg:ident: $t:ident),*) -> $out:ident;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($arg: Self::$t),*) -> Self::$out {
                (self.0.$name($($arg.0),*), self.0.$name($($arg.1),*))
            }
        )*
    };
}

impl<L: Lanes> Lanes for Pair<L> {
    type F = (L::F, L::F);
    type U = (L::U, L::U);
    type M = (L::M, L::M);

    #[inline(always)]
    fn num(self, x: f64) -> Self::F {
        (self.0.num(x), self.0.num(x))
    }
    #[inline(always)]
    fn int(self, x: u64) -> Self::U {
        (self.0.int(x), self.0.int(x))
    }

    both! {
        add(a: F, b: F) -> F;
        sub(a: F, b: F) -> F;
        mul(a: F, b: F) -> F;
        div(a: F, b: F) -> F;
        fma(a: F, b: F, c: F) -> F;
        fnma(a: F, b: F, c: F) -> F;
        exact_fma(a: F, b: F, c: F) -> F;
        less(a: F, b: F) -> M;
        equal(a: F, b: F) -> M;
        choose(mask: M, yes: F, no: F) -> F;
        at_least(low: F, x: F) -> F;
        at_most(high: F, x: F) -> F;
        bits(x: F) -> U;
        float(x: U) -> F;
        add_bits(a: U, b: U) -> U;
        sub_bits(a: U, b: U) -> U;
        and(a: U, b: U) -> U;
        or(a: U, b: U) -> U;
        xor(a: U, b: U) -> U;
        shl_52(x: U) -> U;
        shr_52(x: U) -> U;
        shr_1(x: U) -> U;
        scale(p: F, t: F, k: F) -> F;
    }
}
