//! Encodings of several bytes for a character: what `encoding_rs` knows of them, and where
//! PostgreSQL answers otherwise.
//!
//! ```text
//! codes of encoding_rs - areas + runs of codes -> characters
//! characters of those codes + runs of characters -> codes
//! ```
//! Called by `charset`. `encoding_rs` has the encodings of the web, which take more codes than
//! their namesakes and translate some otherwise.
//! Source: the answers of PostgreSQL 15 to `convert_from` and `convert_to` for each code and each
//! character of the basic plane.

use encoding_rs::Encoding;

use super::Pairs;

/// An encoding of several bytes for a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multi {
    EucJp,
    EucCn,
    EucKr,
    Sjis,
    Big5,
    Gbk,
    Uhc,
    Gb18030,
}

/// Codes that are none: each lead byte with each trail byte.
struct Area {
    leads: [u8; 2],
    trails: [u8; 2],
}

const fn area(first: u8, last: u8, trail_first: u8, trail_last: u8) -> Area {
    Area { leads: [first, last], trails: [trail_first, trail_last] }
}

/// Neighbours that are translated to neighbours; 0 stands for nothing.
struct Run {
    from: u32,
    to: u32,
    count: u32,
}

const fn run(from: u32, to: u32, count: u32) -> Run {
    Run { from, to, count }
}

const EUC_JP_AREAS: &[Area] = &[area(0xf9, 0xfc, 0xa1, 0xfe)];

const EUC_JP_CHARS: &[Run] = &[
    run(0x8fa2b7, 0, 1),
    run(0x8fa2c3, 0xffe4, 1),
    run(0x8ff3f3, 0x2170, 10),
    run(0x8ff3fd, 0x2160, 2),
    run(0x8ff4a1, 0x2162, 8),
    run(0x8ff4a9, 0xff07, 1),
    run(0x8ff4aa, 0xff02, 1),
    run(0x8ff4ab, 0x3231, 1),
    run(0x8ff4ac, 0x2116, 1),
    run(0x8ff4ad, 0x2121, 1),
    run(0x8ff4ae, 0x70bb, 1),
    run(0x8ff4af, 0x4efc, 1),
    run(0x8ff4b0, 0x50f4, 1),
    run(0x8ff4b1, 0x51ec, 1),
    run(0x8ff4b2, 0x5307, 1),
    run(0x8ff4b3, 0x5324, 1),
    run(0x8ff4b4, 0xfa0e, 1),
    run(0x8ff4b5, 0x548a, 1),
    run(0x8ff4b6, 0x5759, 1),
    run(0x8ff4b7, 0xfa0f, 2),
    run(0x8ff4b9, 0x589e, 1),
    run(0x8ff4ba, 0x5bec, 1),
    run(0x8ff4bb, 0x5cf5, 1),
    run(0x8ff4bc, 0x5d53, 1),
    run(0x8ff4bd, 0xfa11, 1),
    run(0x8ff4be, 0x5fb7, 1),
    run(0x8ff4bf, 0x6085, 1),
    run(0x8ff4c0, 0x6120, 1),
    run(0x8ff4c1, 0x654e, 1),
    run(0x8ff4c2, 0x663b, 1),
    run(0x8ff4c3, 0x6665, 1),
    run(0x8ff4c4, 0xfa12, 1),
    run(0x8ff4c5, 0xf929, 1),
    run(0x8ff4c6, 0x6801, 1),
    run(0x8ff4c7, 0xfa13, 2),
    run(0x8ff4c9, 0x6a6b, 1),
    run(0x8ff4ca, 0x6ae2, 1),
    run(0x8ff4cb, 0x6df8, 1),
    run(0x8ff4cc, 0x6df2, 1),
    run(0x8ff4cd, 0x7028, 1),
    run(0x8ff4ce, 0xfa15, 2),
    run(0x8ff4d0, 0x7501, 1),
    run(0x8ff4d1, 0x7682, 1),
    run(0x8ff4d2, 0x769e, 1),
    run(0x8ff4d3, 0xfa17, 1),
    run(0x8ff4d4, 0x7930, 1),
    run(0x8ff4d5, 0xfa18, 4),
    run(0x8ff4d9, 0x7ae7, 1),
    run(0x8ff4da, 0xfa1c, 2),
    run(0x8ff4dc, 0x7da0, 1),
    run(0x8ff4dd, 0x7dd6, 1),
    run(0x8ff4de, 0xfa1e, 1),
    run(0x8ff4df, 0x8362, 1),
    run(0x8ff4e0, 0xfa1f, 1),
    run(0x8ff4e1, 0x85b0, 1),
    run(0x8ff4e2, 0xfa20, 2),
    run(0x8ff4e4, 0x8807, 1),
    run(0x8ff4e5, 0xfa22, 1),
    run(0x8ff4e6, 0x8b7f, 1),
    run(0x8ff4e7, 0x8cf4, 1),
    run(0x8ff4e8, 0x8d76, 1),
    run(0x8ff4e9, 0xfa23, 3),
    run(0x8ff4ec, 0x90de, 1),
    run(0x8ff4ed, 0xfa26, 1),
    run(0x8ff4ee, 0x9115, 1),
    run(0x8ff4ef, 0xfa27, 2),
    run(0x8ff4f1, 0x9592, 1),
    run(0x8ff4f2, 0xf9dc, 1),
    run(0x8ff4f3, 0xfa29, 1),
    run(0x8ff4f4, 0x973b, 1),
    run(0x8ff4f5, 0x974d, 1),
    run(0x8ff4f6, 0x9751, 1),
    run(0x8ff4f7, 0xfa2a, 3),
    run(0x8ff4fa, 0x999e, 1),
    run(0x8ff4fb, 0x9ad9, 1),
    run(0x8ff4fc, 0x9b72, 1),
    run(0x8ff4fd, 0xfa2d, 1),
    run(0x8ff4fe, 0x9ed1, 1),
];

const EUC_CN_AREAS: &[Area] = &[
    area(0xa2, 0xa2, 0xa1, 0xb0),
    area(0xa2, 0xa2, 0xe3, 0xe4),
    area(0xa2, 0xa2, 0xef, 0xf0),
    area(0xa2, 0xa2, 0xfd, 0xfe),
    area(0xa4, 0xa4, 0xf4, 0xfe),
    area(0xa5, 0xa5, 0xf7, 0xfe),
    area(0xa6, 0xa6, 0xb9, 0xc0),
    area(0xa6, 0xa6, 0xd9, 0xfe),
    area(0xa7, 0xa7, 0xc2, 0xd0),
    area(0xa7, 0xa7, 0xf2, 0xfe),
    area(0xa8, 0xa8, 0xbb, 0xc4),
    area(0xa8, 0xa8, 0xea, 0xfe),
    area(0xa9, 0xa9, 0xa1, 0xa3),
    area(0xa9, 0xa9, 0xf0, 0xfe),
    area(0xaa, 0xaf, 0xa1, 0xfe),
    area(0xd7, 0xd7, 0xfa, 0xfe),
    area(0xf8, 0xfe, 0xa1, 0xfe),
];

const SJIS_CODES: &[Run] = &[
    run(0x00a2, 0x8191, 2),
    run(0x00a5, 0x005c, 1),
    run(0x00ac, 0x81ca, 1),
    run(0x2016, 0x8161, 1),
    run(0x203e, 0x007e, 1),
    run(0x2212, 0x817c, 1),
    run(0x221a, 0x81e3, 1),
    run(0x2220, 0x81da, 1),
    run(0x2229, 0x81bf, 1),
    run(0x222a, 0x81be, 1),
    run(0x222b, 0x81e7, 1),
    run(0x2235, 0x81e6, 1),
    run(0x2252, 0x81e0, 1),
    run(0x2261, 0x81df, 1),
    run(0x22a5, 0x81db, 1),
    run(0x301c, 0x8160, 1),
    run(0xffe2, 0x81ca, 1),
];

const BIG5_AREAS: &[Area] = &[
    area(0x87, 0x87, 0x40, 0xdf),
    area(0x88, 0x88, 0x40, 0xaa),
    area(0x89, 0x8a, 0x40, 0xfe),
    area(0x8b, 0x8b, 0x40, 0xfd),
    area(0x8c, 0xa0, 0x40, 0xfe),
    area(0xa3, 0xa3, 0xc0, 0xe1),
    area(0xc7, 0xc7, 0xfd, 0xfe),
    area(0xc8, 0xc8, 0x40, 0xfe),
    area(0xf9, 0xf9, 0xdd, 0xfe),
    area(0xfa, 0xfe, 0x40, 0xfe),
];

const BIG5_CHARS: &[Run] = &[
    run(0xa145, 0x2022, 1),
    run(0xa14e, 0xff64, 1),
    run(0xa15a, 0xfffd, 1),
    run(0xa1c2, 0x203e, 1),
    run(0xa1c3, 0xfffd, 1),
    run(0xa1c5, 0xfffd, 1),
    run(0xa1e3, 0x223c, 1),
    run(0xa1f2, 0x2641, 1),
    run(0xa1f3, 0x2609, 1),
    run(0xa1fe, 0xfffd, 1),
    run(0xa240, 0xfffd, 1),
    run(0xa241, 0xff0f, 1),
    run(0xa242, 0xff3c, 1),
    run(0xa244, 0x00a5, 1),
    run(0xa246, 0x00a2, 2),
    run(0xa2cc, 0xfffd, 1),
    run(0xa2ce, 0xfffd, 1),
    run(0xc6a1, 0x30fe, 1),
    run(0xc6a2, 0x309d, 2),
    run(0xc6a4, 0x3005, 1),
    run(0xc6a5, 0x3041, 83),
    run(0xc6f8, 0x30a1, 7),
    run(0xc740, 0x30a8, 63),
    run(0xc7a1, 0x30e7, 16),
    run(0xc7b1, 0x0414, 2),
    run(0xc7b3, 0x0401, 1),
    run(0xc7b4, 0x0416, 7),
    run(0xc7bb, 0x0423, 19),
    run(0xc7ce, 0x0451, 1),
    run(0xc7cf, 0x0436, 26),
    run(0xc7e9, 0x2460, 10),
    run(0xc7f3, 0x2474, 10),
];

const GBK_AREAS: &[Area] = &[
    area(0xa1, 0xa7, 0x40, 0xa0),
    area(0xa2, 0xa2, 0xab, 0xb0),
    area(0xa2, 0xa2, 0xe3, 0xe4),
    area(0xa2, 0xa2, 0xef, 0xf0),
    area(0xa2, 0xa2, 0xfd, 0xfe),
    area(0xa4, 0xa4, 0xf4, 0xfe),
    area(0xa5, 0xa5, 0xf7, 0xfe),
    area(0xa6, 0xa6, 0xb9, 0xc0),
    area(0xa6, 0xa6, 0xd9, 0xdf),
    area(0xa6, 0xa6, 0xec, 0xed),
    area(0xa6, 0xa6, 0xf3, 0xf3),
    area(0xa6, 0xa6, 0xf6, 0xfe),
    area(0xa7, 0xa7, 0xc2, 0xd0),
    area(0xa7, 0xa7, 0xf2, 0xfe),
    area(0xa8, 0xa8, 0x96, 0xa0),
    area(0xa8, 0xa8, 0xbc, 0xbc),
    area(0xa8, 0xa8, 0xbf, 0xbf),
    area(0xa8, 0xa8, 0xc1, 0xc4),
    area(0xa8, 0xa8, 0xea, 0xfe),
    area(0xa9, 0xa9, 0x58, 0x58),
    area(0xa9, 0xa9, 0x5b, 0x5b),
    area(0xa9, 0xa9, 0x5d, 0x5f),
    area(0xa9, 0xa9, 0x89, 0x95),
    area(0xa9, 0xa9, 0x97, 0xa3),
    area(0xa9, 0xa9, 0xf0, 0xfe),
    area(0xaa, 0xaf, 0xa1, 0xfe),
    area(0xd7, 0xd7, 0xfa, 0xfe),
    area(0xf8, 0xfd, 0xa1, 0xfe),
    area(0xfe, 0xfe, 0x50, 0xfe),
];

const GB18030_CHARS: &[Run] = &[
    run(0xa3a0, 0xe5e5, 1),
    run(0xa6d9, 0xe78d, 7),
    run(0xa6ec, 0xe794, 2),
    run(0xa6f3, 0xe796, 1),
    run(0xa8bc, 0xe7c7, 1),
    run(0xfe59, 0xe81e, 1),
    run(0xfe61, 0xe826, 1),
    run(0xfe66, 0xe82b, 2),
    run(0xfe6d, 0xe832, 1),
    run(0xfe7e, 0xe843, 1),
    run(0xfe90, 0xe854, 1),
    run(0xfea0, 0xe864, 1),
];

const EUC_CN_CHARS: &[Run] = &[run(0xa1a4, 0x30fb, 1), run(0xa1aa, 0x2015, 1)];

const EUC_KR_CHARS: &[Run] = &[run(0xa2e8, 0x327e, 1)];

const UHC_CHARS: &[Run] =
    &[run(0xa2e8, 0x327e, 1), run(0xc9a1, 0xe000, 94), run(0xfea1, 0xe05e, 94)];

const EUC_JP_CODES: &[Run] = &[run(0xa6, 0x8fa2c3, 1)];

const SJIS_AREAS: &[Area] = &[area(0xf0, 0xf9, 0x40, 0xfc)];

const GBK_CODES: &[Run] = &[run(0x20ac, 0x80, 1)];

/// How PostgreSQL differs.
struct Differences {
    areas: &'static [Area],
    /// Codes to characters.
    chars: &'static [Run],
    /// Characters to codes.
    codes: &'static [Run],
}

/// First four bytes of codes beyond the basic plane, in GB18030.
const BEYOND_BMP: u32 = 189_000;

impl Multi {
    fn known(self) -> &'static Encoding {
        match self {
            Self::EucJp => encoding_rs::EUC_JP,
            Self::Sjis => encoding_rs::SHIFT_JIS,
            Self::EucCn | Self::Gbk | Self::Gb18030 => encoding_rs::GB18030,
            Self::EucKr | Self::Uhc => encoding_rs::EUC_KR,
            Self::Big5 => encoding_rs::BIG5,
        }
    }

    fn differences(self) -> Differences {
        let none = Differences { areas: &[], chars: &[], codes: &[] };
        match self {
            Self::EucJp => {
                Differences { areas: EUC_JP_AREAS, chars: EUC_JP_CHARS, codes: EUC_JP_CODES }
            }
            Self::EucCn => Differences { areas: EUC_CN_AREAS, chars: EUC_CN_CHARS, ..none },
            Self::EucKr => Differences { chars: EUC_KR_CHARS, ..none },
            Self::Sjis => Differences { areas: SJIS_AREAS, codes: SJIS_CODES, ..none },
            Self::Big5 => Differences { areas: BIG5_AREAS, chars: BIG5_CHARS, ..none },
            Self::Gbk => Differences { areas: GBK_AREAS, codes: GBK_CODES, ..none },
            Self::Uhc => Differences { chars: UHC_CHARS, ..none },
            Self::Gb18030 => Differences { chars: GB18030_CHARS, ..none },
        }
    }

    /// The bytes that the character at the front of `bytes` claims by what begins it.
    pub(super) fn length(self, bytes: &[u8]) -> usize {
        match (self, bytes[0]) {
            (_, ..=0x7f) | (Self::Sjis, 0xa1..=0xdf) => 1,
            (Self::EucJp, 0x8f) => 3,
            (Self::Gb18030, _) => match bytes.get(1) {
                Some(0x30..=0x39) => 4,
                _ => 2,
            },
            _ => 2,
        }
    }

    /// The bytes of the character at the front of `bytes`, whose first is no ASCII; None when
    /// there is none. Its code need not have a character.
    pub(super) fn character(self, bytes: &[u8]) -> Option<usize> {
        let length = self.length(bytes);
        let code = bytes.get(..length)?;
        let is_high = |byte: &u8| (0xa1..=0xfe).contains(byte);
        let is = match (self, code) {
            (Self::EucJp, [0x8e, kana]) => (0xa1..=0xdf).contains(kana),
            (Self::EucJp, [0x8f, rest @ ..]) => rest.iter().all(is_high),
            (Self::EucJp | Self::EucCn | Self::EucKr, code) => code.iter().all(is_high),
            (Self::Sjis, [_]) => true,
            (Self::Sjis, [lead, trail]) => {
                matches!(lead, 0x81..=0x9f | 0xe0..=0xfc)
                    && matches!(trail, 0x40..=0x7e | 0x80..=0xfc)
            }
            (Self::Gb18030, [a, _, c, d]) => {
                [a, c].into_iter().all(|byte| (0x81..=0xfe).contains(byte)) && d.is_ascii_digit()
            }
            (Self::Gb18030, [lead, trail]) => {
                (0x81..=0xfe).contains(lead) && matches!(trail, 0x40..=0x7e | 0x80..=0xfe)
            }
            (_, [_, trail]) => *trail != 0,
            _ => false,
        };
        is.then_some(length)
    }

    /// All codes that may have a character, of two bytes and the like.
    fn codes(self) -> impl Iterator<Item = u32> {
        let alone = (self == Self::Sjis).then_some(0xa1..=0xdf).into_iter().flatten();
        let two = (0x81..=0xfe).flat_map(|lead| (0x40..=0xfe).map(move |trail| lead << 8 | trail));
        let high = (self == Self::EucJp).then_some(0xa1..=0xfe).into_iter().flatten();
        let three = high.flat_map(|a| (0xa1..=0xfe).map(move |b| 0x8f_0000 | a << 8 | b));
        alone.chain(two).chain(three)
    }

    /// All codes, of GB18030 those of the basic plane, and their characters.
    pub(super) fn pairs(self) -> Pairs {
        let differences = self.differences();
        let known = self.known();
        let char_of = |code: u32| {
            let bytes = code.to_be_bytes();
            let bytes = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
            if self.character(bytes) != Some(bytes.len()) {
                return None;
            }
            let translated = translated(differences.chars, code);
            if let Some(to) = translated {
                return char::from_u32(to).filter(|c| *c != '\0');
            }
            let [.., lead, trail] = code.to_be_bytes();
            let is_dropped = |area: &Area| {
                (area.leads[0]..=area.leads[1]).contains(&lead)
                    && (area.trails[0]..=area.trails[1]).contains(&trail)
            };
            if bytes.len() == 2 && differences.areas.iter().any(is_dropped) {
                return None;
            }
            let text = known.decode_without_bom_handling_and_without_replacement(bytes)?;
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none())
        };
        let mut chars: Vec<(u32, char)> =
            self.codes().filter_map(|code| Some((code, char_of(code)?))).collect();
        if self == Self::Gb18030 {
            add_of_four_bytes(&mut chars);
        }
        let mut codes: Vec<(char, u32)> = chars.iter().map(|(code, c)| (*c, *code)).collect();
        codes.sort_unstable();
        // Of several codes the first is written, in SJIS the last: those that IBM chose.
        if self == Self::Sjis {
            codes.reverse();
        }
        codes.dedup_by_key(|pair| pair.0);
        for run in differences.codes {
            let all = (run.from..run.from + run.count).zip(run.to..);
            let all = all.filter_map(|(from, to)| char::from_u32(from).map(|c| (c, to)));
            all.for_each(|(c, code)| {
                codes.retain(|pair| pair.0 != c);
                codes.push((c, code));
            });
        }
        codes.sort_unstable();
        chars.sort_unstable();
        Pairs { chars, codes }
    }
}

/// The number that `runs` make of `from`.
fn translated(runs: &[Run], from: u32) -> Option<u32> {
    let run = runs.iter().find(|run| (run.from..run.from + run.count).contains(&from))?;
    Some(run.to + (from - run.from))
}

/// The characters of the basic plane that have no code of two bytes, in order.
fn add_of_four_bytes(chars: &mut Vec<(u32, char)>) {
    let mut taken: Vec<char> = chars.iter().map(|pair| pair.1).collect();
    taken.sort_unstable();
    let all = (0x80..0x1_0000).filter_map(char::from_u32);
    let rest = all.filter(|c| taken.binary_search(c).is_err());
    chars.extend((0..).zip(rest).map(|(number, c)| (four_bytes(number), c)));
}

/// The code of four bytes with this number.
fn four_bytes(number: u32) -> u32 {
    let (rest, d) = (number / 10, number % 10);
    let (rest, c) = (rest / 126, rest % 126);
    let (a, b) = (rest / 10, rest % 10);
    (0x81 + a) << 24 | (0x30 + b) << 16 | (0x81 + c) << 8 | (0x30 + d)
}

/// The character beyond the basic plane of four bytes of GB18030.
pub(super) fn beyond_bmp(code: &[u8]) -> Option<char> {
    let [a, b, c, d] = *code.first_chunk::<4>()?;
    let digit = |byte: u8, first: u8| u32::from(byte.wrapping_sub(first));
    let number =
        ((digit(a, 0x81) * 10 + digit(b, 0x30)) * 126 + digit(c, 0x81)) * 10 + digit(d, 0x30);
    char::from_u32(0x1_0000 + number.checked_sub(BEYOND_BMP)?)
}

/// The code of a character beyond the basic plane in GB18030.
pub(super) fn code_beyond_bmp(c: char) -> u32 {
    four_bytes(u32::from(c) - 0x1_0000 + BEYOND_BMP)
}
