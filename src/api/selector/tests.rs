//! What apimachinery does with the same selectors.

use super::*;
use proptest::prelude::*;

fn selector(text: &str) -> Selector {
    Selector::parse(text).unwrap()
}

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn a_selector_matches_as_in_apimachinery() {
    let labels = labels(&[("a", "x"), ("n", "7"), ("empty", ""), ("example.com/b", "y"), ("in", "z")]);
    let table = [
        ("", true),
        (" \t\r\n", true),
        ("a=x", true),
        ("a==x", true),
        (" a = x ", true),
        ("a=y", false),
        ("a!=x", false),
        ("a!=y", true),
        ("absent!=y", true),
        ("absent=", false),
        ("empty=", true),
        ("empty", true),
        ("a=,n", false),
        ("a in (x,y)", true),
        ("a in(x , y)", true),
        ("a in (y)", false),
        ("absent in (x)", false),
        ("a notin (y)", true),
        ("a notin (x)", false),
        ("absent notin (x)", true),
        ("empty in (,x)", true),
        ("empty in (x,)", true),
        ("empty in (x,,y)", true),
        ("a", true),
        ("absent", false),
        ("!a", false),
        ("!absent", true),
        ("! absent", true),
        ("n>6", true),
        ("n>7", false),
        ("n<8", true),
        ("a>1", false),
        ("absent<8", false),
        ("example.com/b=y", true),
        ("in", true),
        ("in in (z)", true),
        ("in=z", true),
        ("a=x,n=7,!absent", true),
        ("a=x,n=8", false),
    ];
    for (text, expected) in table {
        assert_eq!(selector(text).matches_labels(&labels), expected, "{text}");
    }
}

#[test]
fn what_apimachinery_refuses_is_refused() {
    let syntax = [
        ",",
        ",a",
        "a,",
        "a,,b",
        "a b",
        "a=b c",
        "!",
        "!!a",
        "!a=b",
        "!a in (x)",
        "=b",
        "a=(x)",
        "a===b",
        "a in",
        "a in x",
        "a in (x",
        "a in (x y)",
        "a in (x=y)",
        "a in (x) b",
        "(a)",
        "a=>b",
    ];
    for text in syntax {
        assert!(matches!(Selector::parse(text), Err(SelectorError::Syntax(_))), "{text}");
    }
    let long = "v".repeat(64);
    let table = [
        ("/a", SelectorError::Key("/a".into())),
        ("a/b/c=d", SelectorError::Key("a/b/c".into())),
        ("a=b/c", SelectorError::Value("a".into())),
        ("a in (b,-)", SelectorError::Value("a".into())),
        (&format!("a={long}"), SelectorError::Value("a".into())),
        ("a in ()", SelectorError::NoValues("a".into())),
        ("a>x", SelectorError::Number("a".into())),
        ("a>", SelectorError::Number("a".into())),
        ("a<-1", SelectorError::Number("a".into())),
    ];
    for (text, error) in table {
        assert_eq!(Selector::parse(text), Err(error), "{text}");
    }
}

#[test]
fn a_selector_is_written_in_one_canonical_form() {
    let table = [
        ("", ""),
        ("b , a==x", "a=x,b"),
        ("a in (x)", "a=x"),
        ("a notin (x)", "a!=x"),
        ("a in (y,x,y)", "a in (x,y)"),
        ("a in (,x)", "a in (,x)"),
        ("a=", "a="),
        ("!a,b>05,a=x,a=x", "a=x,!a,b>5"),
    ];
    for (text, canonical) in table {
        assert_eq!(selector(text).to_string(), canonical, "{text}");
    }
}

#[test]
fn metav1_label_selectors_mean_the_same() {
    let table = [
        ("{}", ""),
        (r#"{"matchLabels":{"b":"y","a":"x"}}"#, "a=x,b=y"),
        (r#"{"matchExpressions":[{"key":"a","operator":"In","values":["x","y"]}]}"#, "a in (x,y)"),
        (r#"{"matchExpressions":[{"key":"a","operator":"NotIn","values":["x"]}]}"#, "a!=x"),
        (r#"{"matchExpressions":[{"key":"a","operator":"Exists"}]}"#, "a"),
        (r#"{"matchExpressions":[{"key":"a","operator":"DoesNotExist","values":[]}]}"#, "!a"),
        (r#""env=prod""#, "env=prod"),
    ];
    for (json, text) in table {
        assert_eq!(serde_json::from_str::<Selector>(json).unwrap(), selector(text), "{json}");
    }
    let refused = [
        r#"{"matchLabel":{}}"#,
        r#"{"matchLabels":{"a":"b c"}}"#,
        r#"{"matchExpressions":[{"key":"a","operator":"In"}]}"#,
        r#"{"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]}"#,
        r#"{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}"#,
        r#""a=b c""#,
        "1",
    ];
    for json in refused {
        assert!(serde_json::from_str::<Selector>(json).is_err(), "{json}");
    }
}

#[test]
fn an_error_holds_no_value() {
    for text in ["a=s3cret!", "a=s3cret/", "a in (s3cret/)", "a>s3cret", "a s3cret"] {
        let error = Selector::parse(text).unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
}

proptest! {
    #[test]
    fn what_was_written_is_read_again(text in "[ab1=!,<> ]{0,12}|a (in|notin) \\([ab, ]{0,6}\\)|\\PC{0,12}") {
        if let Ok(selector) = Selector::parse(&text) {
            prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
        }
    }

    #[test]
    fn a_negated_requirement_matches_exactly_what_the_plain_one_does_not(
        value in proptest::option::of("[abc]?"), set in "[abc](,[abc]){0,2}",
    ) {
        let labels: BTreeMap<_, _> = value.map(|value| ("k".to_owned(), value)).into_iter().collect();
        let [plain, negated] = ["in", "notin"].map(|op| selector(&format!("k {op} ({set})")).matches_labels(&labels));
        prop_assert_ne!(plain, negated);
    }
}
