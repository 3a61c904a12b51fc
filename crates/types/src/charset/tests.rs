//! Encodings there and back. Whole tables are compared with PostgreSQL in
//! `tests/slt/strings/encodings.slt`.

use proptest::prelude::*;

use super::*;

fn named(name: &str) -> Charset {
    Charset::named(name).expect("an encoding")
}

fn decoded(charset: &str, bytes: &[u8]) -> Result<String> {
    let mut out = Vec::new();
    named(charset).decode(bytes, &mut out)?;
    Ok(String::from_utf8(out).expect("UTF-8"))
}

fn encoded(charset: &str, text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    named(charset).encode(text, &mut out).map(|()| out)
}

#[test]
fn names_have_many_spellings() {
    let all = [
        ("latin1", "LATIN1"),
        ("ISO-8859-1", "LATIN1"),
        ("iso_8859_5", "ISO_8859_5"),
        ("windows-1252", "WIN1252"),
        ("Windows874", "WIN874"),
        ("shift_jis", "SJIS"),
        ("utf-8", "UTF8"),
        ("SQL_ASCII", "SQL_ASCII"),
    ];
    for (given, name) in all {
        assert_eq!(named(given).name(), name);
    }
    assert!(Charset::named("latin11").is_none() && Charset::named("").is_none());
    assert_eq!(Charset::UTF8.name(), "UTF8");
    assert_eq!(named("GB18030").number(), 39);
}

#[test]
fn texts_of_the_web_and_of_postgresql_differ() {
    // The web takes ISO 8859-1 for Windows 1252.
    assert_eq!(decoded("LATIN1", b"\x80\xe9").expect("text"), "\u{80}é");
    assert_eq!(decoded("WIN1252", b"\x80\xe9").expect("text"), "€é");
    let error = decoded("WIN1252", b"a\x81").expect_err("no character");
    assert_eq!(error.state(), SqlState::UNTRANSLATABLE);
    assert_eq!(encoded("SJIS", "¥‾").expect("text"), b"\x5c\x7e");
    assert_eq!(encoded("EUC_JP", "¦").expect("text"), b"\x8f\xa2\xc3");
    assert_eq!(encoded("GBK", "€").expect("text"), b"\x80");
    assert_eq!(encoded("GB18030", "𝄞\u{e5e5}").expect("text"), b"\x94\x32\xbe\x34\xa3\xa0");
    assert_eq!(decoded("GB18030", b"\x94\x32\xbe\x34").expect("text"), "𝄞");
    assert_eq!(encoded("LATIN9", "¤").expect_err("none").state(), SqlState::UNTRANSLATABLE);
    assert_eq!(decoded("EUC_KR", b"\xb0").expect_err("half").state(), SqlState::INVALID_ENCODING);
}

#[test]
fn a_character_may_come_in_parts() {
    let bytes = encoded("GB18030", "a中\u{81}𝄞b").expect("text");
    let charset = named("GB18030");
    let finished = |end: usize| end - charset.unfinished(&bytes[..end]);
    let found: Vec<usize> = (0..=bytes.len()).map(finished).collect();
    assert_eq!(found, [0, 1, 1, 3, 3, 3, 3, 7, 7, 7, 7, 11, 12]);
}

/// FNV-1a of pairs of numbers.
fn digest(pairs: impl Iterator<Item = [u32; 2]>) -> u64 {
    let bytes = pairs.flatten().flat_map(u32::to_be_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Digests of PostgreSQL's answers to `convert_from` of each code that has one, and to `convert_to`
/// of each character of the basic plane that has one.
const ANSWERS: [(&str, [u64; 2]); 8] = [
    ("EUC_JP", [0x1220_2ff0_fe63_8b1e, 0x36eb_f7f5_47a8_13aa]),
    ("EUC_CN", [0x169b_a6f0_02dc_82ea, 0x9bd3_55d6_7c94_8f06]),
    ("EUC_KR", [0x9ccc_0aa3_a803_2b72, 0xa40f_a5ee_2b8b_1752]),
    ("SJIS", [0x01bb_bc71_2d10_815b, 0xded6_648f_896e_f8a8]),
    ("BIG5", [0x29de_fbca_4863_95a1, 0xba48_daea_a649_469c]),
    ("GBK", [0x8b0d_849d_1fb5_0a61, 0x91a0_9b4c_7fd1_97f1]),
    ("UHC", [0x1e53_ef5f_4396_50bd, 0xbc9a_c8ce_6f03_781d]),
    ("GB18030", [0x0494_880f_2909_4271, 0x1608_abee_f341_20cd]),
];

#[test]
fn tables_are_those_of_postgresql() {
    for (name, expected) in ANSWERS {
        let pairs = named(name).pairs().expect("tables");
        let chars = digest(pairs.chars.iter().map(|(code, c)| [*code, u32::from(*c)]));
        let codes = digest(pairs.codes.iter().map(|(c, code)| [u32::from(*c), *code]));
        assert_eq!([chars, codes], expected, "{name}");
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(number in 0..42_i32, text in "[a-z\u{80}-\u{ffff}]{0,8}") {
        let charset = Charset::numbered(number).expect("an encoding");
        let mut bytes = Vec::new();
        if charset.is_here() && charset.encode(&text, &mut bytes).is_ok() {
            let mut back = Vec::new();
            charset.decode(&bytes, &mut back).expect("what was encoded");
            let again = String::from_utf8(back).expect("UTF-8");
            let mut bytes_again = Vec::new();
            charset.encode(&again, &mut bytes_again).expect("what was decoded");
            prop_assert_eq!(bytes, bytes_again);
        }
    }

    #[test]
    fn no_bytes_panic(number in 0..42_i32, bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
        let charset = Charset::numbered(number).expect("an encoding");
        if charset.is_here() {
            let _ = charset.decode(&bytes, &mut Vec::new());
            prop_assert!(charset.unfinished(&bytes) <= bytes.len());
        }
    }
}
