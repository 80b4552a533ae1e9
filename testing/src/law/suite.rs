//! Suites of laws: one test per law, or one report.

/// Tests of laws, one `#[test]` each: `law_tests!([module]; cases; [meter]; law ..)`.
///
/// `cases` is an expression that iterates over cases with a field `left_out: LeftOut`; `module` is the path of the functions
/// `law(&case)`, or `law(&case, meter)` with a meter. Each test prints its check, which `cargo test -- --show-output` shows.
///
/// ```
/// use mcsa_testing::law::{Failure, LeftOut, near};
/// #[derive(Default)]
/// pub struct Case { x: f64, left_out: LeftOut }
/// pub fn squares_are_positive(case: &Case) -> Result<(), Failure> {
///     near("squares_are_positive", || "x".into(), case.x.powi(2).min(0.0), 0.0, 0.0)
/// }
/// mcsa_testing::law_tests!([self]; [Case::default()]; []; squares_are_positive);
/// ```
#[macro_export]
macro_rules! law_tests {
    (@one [$($module:tt)*]; $cases:expr; [$($meter:expr)?]; $law:ident) => {
        #[test]
        fn $law() {
            for (k, case) in $cases.into_iter().enumerate() {
                let mut report = $crate::law::Report::new(format!("case {k}"), vec![]);
                report.run(&case.left_out, stringify!($law), || $($module)*::$law(&case $(, &mut $meter)?));
                assert!(report.holds(), "{report}");
                println!("{report}");
            }
        }
    };
    ($module:tt; $cases:expr; $meter:tt; $($law:ident)*) => {
        $($crate::law_tests!(@one $module; $cases; $meter; $law);)*
    };
}

/// Report on the laws of one case: `law_report!(case; law ..)`, with the functions `law(&case)` in scope.
#[macro_export]
macro_rules! law_report {
    ($case:expr; $($law:ident)*) => {{
        let mut report = $crate::law::Report::default();
        $(report.run(&$case.left_out, stringify!($law), || $law($case));)*
        report
    }};
}

/// Names of laws as a slice: `law_names!(law ..)`.
#[macro_export]
macro_rules! law_names {
    ($($law:ident)*) => { &[$(stringify!($law)),*] };
}
