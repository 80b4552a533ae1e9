//! Flows saved as text.

use mcsa_core::{Parametric, Seed};
use mcsa_families::{Autoregressive, Base, BlockNeural, Fixed, Flow, FlowConfig, Gauss, Layer, Spline};

fn trained() -> (Flow, Vec<f64>) {
    let flow = Flow::neural_spline(3, Gauss, 2, &[4], Spline::default()).unwrap();
    let params = (0..flow.num_params()).map(|k| (k as f64).sin() / 3.0).collect();
    (flow, params)
}

#[test]
fn a_flow_comes_back_with_every_bit() {
    let (flow, mut params) = trained();
    params[..3].copy_from_slice(&[-0.0, f64::MIN_POSITIVE / 8.0, 0.1 + 0.2]);
    let text = flow.save(&params).unwrap();
    let (again, back) = <Flow>::load(&text).unwrap();
    assert_eq!(again, flow);
    assert!(back.iter().map(|x| x.to_bits()).eq(params.iter().map(|x| x.to_bits())));
    assert_eq!(again.save(&back).unwrap(), text);
    // White space does not enter the checksum.
    let dense: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(<Flow>::load(&dense.to_string()).unwrap().1.len(), params.len());

    let layers = vec![Layer::Linear, Layer::ActNorm];
    let student = Flow::new(2, Fixed::new(0.1 + 2.2).unwrap(), layers).unwrap();
    let params = vec![0.3; student.num_params()];
    assert_eq!(<Flow>::load(&student.save(&params).unwrap()).unwrap(), (student, params));
}

/// Every constructor, on a Gaussian and on a t; a flow without an inverse comes back as one.
#[test]
fn every_kind_of_flow_can_be_saved() {
    fn check<const I: bool>(flow: Flow<I>) -> String {
        let params = flow.start(&mut Seed::new(2).stream(0, 0)).unwrap();
        let text = flow.save(&params).unwrap();
        assert_eq!(<Flow<I>>::load(&text).unwrap(), (flow, params));
        text
    }
    fn on(base: impl Into<Base> + Copy) {
        check(Flow::masked_autoregressive(3, base, 2, &[4]).unwrap());
        check(Flow::inverse_autoregressive(3, base, 2, &[4]).unwrap());
        check(Flow::block_neural(3, base, 2, &[4]).unwrap());
    }
    on(Gauss);
    on(Fixed::new(4.0).unwrap());
    let text = check(Flow::block_neural(2, Gauss, 1, &[4]).unwrap());
    let error = <Flow>::load(&text).unwrap_err().to_string();
    assert!(error.starts_with("reading a flow: layer 0 of a flow: it has no inverse"), "{error}");
}

#[test]
fn what_is_no_saved_flow_is_refused_with_a_reason() {
    let (flow, mut params) = trained();
    let text = flow.save(&params).unwrap();
    let refused = |text: &str, reason: &str| {
        let error = <Flow>::load(text).unwrap_err().to_string();
        assert!(error.starts_with("reading a flow: ") && error.contains(reason), "{error}");
    };
    refused("", "cut off");
    refused(&text[..text.len() / 2], "cut off");
    refused(&text[..text.len() - 1], "cut off");
    refused("a flow", "expected value");
    refused("[1, 2]", "no format and version");
    refused("{}", "no format and version");
    refused(&text.replace("mcsa flow", "mcsa fit"), "the format is \"mcsa fit\", expected \"mcsa flow\"");
    refused(
        &text.replace("\"version\": 2", "\"version\": 1"),
        "the version is 1, and this code reads version 2",
    );
    refused(
        &text.replace("\"version\": 2", "\"version\": 1").replace("\"checksum\"", "\"sum\""),
        "version is 1",
    );
    refused(&text.replace("\"checksum\"", "\"sum\""), "unknown field `sum`");
    refused(&text.replace("\"bins\": 8", "\"bins\": 9"), "the checksum does not match");
    refused(&text.replace("\"dim\": 3", "\"dim\": 3, \"shape\": 1"), "unknown field `shape`");
    let place = text.find("\"params\": \"").unwrap() + 14;
    let digit = if &text[place..=place] == "0" { "1" } else { "0" };
    refused(&format!("{}{digit}{}", &text[..place], &text[place + 1..]), "the checksum does not match");
    params[0] = f64::NAN;
    assert!(flow.save(&params).is_err() && flow.save(&params[1..]).is_err());
}

#[test]
fn configs_are_files_and_know_their_fields() {
    let (flow, _) = trained();
    let text = serde_json::to_string(&flow.config()).unwrap();
    assert_eq!(<Flow>::from_config(serde_json::from_str(&text).unwrap()).unwrap(), flow);
    let text = r#"{"dim": 2, "base": {"student": {"dof": 4.0}}, "layers": [
        {"coupling": {"mask": "even", "hidden": [8], "map": {"affine": {"bound": 1.0}}}},
        "linear", "act-norm"]}"#;
    let config: FlowConfig = serde_json::from_str(text).unwrap();
    assert_eq!(<Flow>::from_config(config).unwrap().layout().len(), 3);
    for (good, bad) in [("\"bound\"", "\"bond\""), ("\"hidden\"", "\"hiden\""), ("\"dof\"", "\"nu\"")] {
        assert!(serde_json::from_str::<FlowConfig>(&text.replace(good, bad)).is_err(), "{bad}");
    }
    let bad: FlowConfig = serde_json::from_str(&text.replace("4.0", "-4.0")).unwrap();
    assert!(<Flow>::from_config(bad).is_err());
    // What is absent has its default.
    let parse = |layer| serde_json::from_str::<Layer>(layer);
    let affine = Layer::Autoregressive(Autoregressive { bound: 1.0, ..Autoregressive::default() });
    assert_eq!(parse(r#"{"autoregressive": {"bound": 1.0}}"#).unwrap(), affine);
    let block = Layer::BlockNeural(BlockNeural { gated: true, ..BlockNeural::default() });
    assert_eq!(parse(r#"{"block-neural": {"gated": true}}"#).unwrap(), block);
    assert!(parse(r#"{"autoregressive": {"depth": 4}}"#).is_err());
    assert!(parse(r#"{"block-neural": {"gate": true}}"#).is_err());
}
