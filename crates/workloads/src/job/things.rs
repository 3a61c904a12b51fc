//! Artists and albums as functions of their numbers, so that rows of other tables can
//! agree with them without looking anything up.

use super::words::{COUNTRIES, FAMILIES, LANGUAGES};
use crate::random::Draw;

/// Numbers of the generators' streams: [`Draw::new`]'s tables.
pub(super) mod stream {
    pub(in super::super) const CITY: u64 = 31;
    pub(in super::super) const TAG: u64 = 32;
    pub(in super::super) const LABEL: u64 = 33;
    pub(in super::super) const ARTIST: u64 = 34;
    pub(in super::super) const ARTIST_NAME: u64 = 35;
    pub(in super::super) const ALIAS: u64 = 36;
    pub(in super::super) const ARTIST_INFO: u64 = 37;
    pub(in super::super) const MEMBER: u64 = 38;
    pub(in super::super) const ALBUM: u64 = 39;
    pub(in super::super) const ALBUM_ARTIST: u64 = 40;
    pub(in super::super) const ALBUM_INFO: u64 = 41;
    pub(in super::super) const ALBUM_TAG: u64 = 42;
    pub(in super::super) const ALBUM_LINK: u64 = 43;
    pub(in super::super) const RELEASE: u64 = 44;
    pub(in super::super) const TRACK: u64 = 45;
    pub(in super::super) const CREDIT: u64 = 46;
}

/// Cities of a country.
pub(super) const CITIES: u64 = 60;

/// The last year.
pub(super) const NOW: i64 = 2025;

/// Albums that follow each other and are by the same artist.
pub(super) const ALBUMS_BY_ONE: u64 = 4;

/// How many there are at one scale factor.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) tags: u64,
    pub(super) labels: u64,
    /// Whole hundreds, not divisible by [`SPREAD`].
    pub(super) artists: u64,
    pub(super) albums: u64,
    /// Times [`SPREAD`], this is 1 modulo the number of artists.
    unspread: u64,
}

impl Sizes {
    pub(super) fn new(sf: f64) -> Self {
        let scaled = |rows: f64, min: u64| ((rows * sf) as u64).max(min);
        let artists = scaled(2_000.0, 4) * 100;
        let artists = if artists % SPREAD == 0 { artists + 100 } else { artists };
        Self {
            tags: scaled(20_000.0, 240),
            labels: scaled(10_000.0, 80),
            artists,
            albums: scaled(250_000.0, 500),
            unspread: inverse(SPREAD % artists, artists),
        }
    }

    /// The number of the artist with this rank in fame.
    fn artist_at(&self, rank: u64) -> u64 {
        (u128::from(rank) * u128::from(SPREAD) % u128::from(self.artists)) as u64
    }

    /// The rank in fame of artist number `number`.
    fn rank_of(&self, number: u64) -> u64 {
        (u128::from(number) * u128::from(self.unspread) % u128::from(self.artists)) as u64
    }
}

/// Spreads ranks over numbers: a prime.
const SPREAD: u64 = 7919;

/// Factor that `of` must be multiplied with to be 1 modulo `modulus`: Euclid's algorithm. They have
/// no common divisor.
fn inverse(of: u64, modulus: u64) -> u64 {
    let (mut old, mut rest) = (i128::from(modulus), i128::from(of));
    let (mut before, mut factor) = (0, 1);
    while rest != 0 {
        let quotient = old / rest;
        (old, rest) = (rest, old - quotient * rest);
        (before, factor) = (factor, before - quotient * factor);
    }
    before.rem_euclid(i128::from(modulus)) as u64
}

/// A country, more often one of the first.
pub(super) fn country(draw: &mut Draw) -> u64 {
    draw.ranked(COUNTRIES.len() as u64)
}

/// A city of `country`, more often one of the first.
pub(super) fn city(country: u64, draw: &mut Draw) -> u64 {
    country * CITIES + draw.ranked(CITIES)
}

/// The country of a city.
pub(super) fn country_of(city: u64) -> u64 {
    city / CITIES
}

/// The language spoken in a city.
pub(super) fn language_of(city: u64) -> usize {
    COUNTRIES[country_of(city) as usize].2
}

/// Kinds as positions in the list of their names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Person = 0,
    Band = 1,
    Orchestra = 2,
    Choir = 3,
}

/// A person, or several who play together.
#[derive(Clone, Copy)]
pub(super) struct Artist {
    pub(super) number: u64,
    pub(super) kind: Kind,
    pub(super) city: u64,
    pub(super) language: usize,
    /// Family of the music, usually.
    pub(super) family: usize,
    /// Birth or foundation.
    pub(super) begin: i64,
    /// Place by the number of albums, from 0.
    pub(super) rank: u64,
}

impl Artist {
    /// Artist number `number`.
    pub(super) fn new(number: u64, sizes: Sizes) -> Self {
        let mut draw = Draw::new(stream::ARTIST, number);
        let kind = match number % 100 {
            3 => Kind::Orchestra,
            4 => Kind::Choir,
            n if n % 10 < 3 => Kind::Band,
            _ => Kind::Person,
        };
        let country = country(&mut draw);
        let city = city(country, &mut draw);
        let language = language_of(city);
        let families = FAMILIES.len();
        let family = match kind {
            // Most orchestras and choirs play nothing else.
            Kind::Orchestra | Kind::Choir if draw.percent(85) => 7,
            // Each language has its own favourites.
            _ => (language * 5 + draw.ranked(families as u64) as usize) % families,
        };
        let age = draw.ranked(90) as i64;
        let begin = match kind {
            Kind::Person => NOW - 20 - age,
            _ => NOW - age,
        };
        Self { number, kind, city, language, family, begin, rank: sizes.rank_of(number) }
    }

    /// An artist, more often a famous one.
    pub(super) fn famous(draw: &mut Draw, sizes: Sizes) -> Self {
        Self::new(sizes.artist_at(draw.ranked(sizes.artists)), sizes)
    }

    /// A person, most often one who speaks `language`.
    pub(super) fn person(language: usize, draw: &mut Draw, sizes: Sizes) -> Self {
        let mut person = Self::any_person(draw, sizes);
        for _ in 0..6 {
            if person.language == language {
                break;
            }
            person = Self::any_person(draw, sizes);
        }
        person
    }

    fn any_person(draw: &mut Draw, sizes: Sizes) -> Self {
        let number = if draw.percent(50) {
            sizes.artist_at(draw.ranked(sizes.artists))
        } else {
            draw.below(sizes.artists)
        };
        // Numbers that end in 5 to 9 are persons.
        Self::new(number / 10 * 10 + 5 + number % 5, sizes)
    }

    /// The persons who play in this band, and since when.
    pub(super) fn members(self, sizes: Sizes) -> Vec<(u64, i64)> {
        let mut draw = Draw::new(stream::MEMBER, self.number);
        let count = 2 + draw.ranked(5);
        let member = |_| {
            let person = Self::person(self.language, &mut draw, sizes);
            (person.number, (self.begin + draw.ranked(12) as i64).min(NOW))
        };
        (0..count).map(member).collect()
    }

    /// The name, other ones for each `variant`.
    pub(super) fn name(self, variant: u64) -> String {
        use super::words::{ADJECTIVES, NOUNS};
        let mut draw = Draw::seeded(variant, stream::ARTIST_NAME, self.number);
        let language = &LANGUAGES[self.language];
        let family = format!("{}{}", draw.pick(&language.stems), draw.pick(&language.endings));
        match self.kind {
            Kind::Person => {
                let initial = char::from(b'A' + draw.below(26) as u8);
                format!("{} {initial}. {family}", draw.pick(&language.first))
            }
            Kind::Band if draw.percent(60) => {
                format!("The {} {}", draw.pick(&ADJECTIVES), draw.pick(&NOUNS))
            }
            Kind::Band => format!("{family} {}", draw.pick(&NOUNS)),
            Kind::Orchestra => format!("{family} Philharmonic Orchestra"),
            Kind::Choir => format!("{family} Chamber Choir"),
        }
    }
}

/// A label's city; its language follows from its number.
pub(super) fn label_city(number: u64) -> u64 {
    let mut draw = Draw::new(stream::LABEL, number);
    let wanted = number as usize % LANGUAGES.len();
    let mut from = country(&mut draw);
    while COUNTRIES[from as usize].2 != wanted {
        from = (from + 1) % COUNTRIES.len() as u64;
    }
    city(from, &mut draw)
}

/// A label, most often of `language` and one of the large ones.
pub(super) fn label(language: usize, draw: &mut Draw, sizes: Sizes) -> u64 {
    let languages = LANGUAGES.len() as u64;
    let language = if draw.percent(85) { language as u64 } else { draw.below(languages) };
    draw.ranked(sizes.labels / languages) * languages + language
}

/// Properties of an album that all tables agree on.
#[derive(Clone, Copy)]
pub(super) struct Album {
    pub(super) number: u64,
    pub(super) artist: Artist,
    /// Position in the list of kinds.
    pub(super) kind: usize,
    pub(super) family: usize,
    pub(super) variety: usize,
    pub(super) label: Option<u64>,
    pub(super) year: i64,
}

impl Album {
    /// Album number `number`.
    pub(super) fn new(number: u64, sizes: Sizes) -> Self {
        let mut artists = Draw::new(stream::ALBUM_ARTIST, number / ALBUMS_BY_ONE);
        let artist = Artist::famous(&mut artists, sizes);
        let mut draw = Draw::new(stream::ALBUM, number);
        let family = if draw.percent(85) {
            artist.family
        } else {
            draw.ranked(FAMILIES.len() as u64) as usize
        };
        let first = artist.begin + if artist.kind == Kind::Person { 20 } else { 0 };
        Self {
            number,
            artist,
            kind: 4 + draw.ranked(6) as usize,
            family,
            variety: draw.ranked(5) as usize,
            label: draw.percent(88).then(|| label(artist.language, &mut draw, sizes)),
            year: first + draw.below((NOW - first) as u64 + 1) as i64,
        }
    }

    /// Fame of the album: most of it comes from the artist.
    pub(super) fn fame(&self, draw: &mut Draw) -> u64 {
        let levels = 64 - u64::from((self.artist.rank + 1).leading_zeros());
        (20 - levels.min(20)) + draw.below(4)
    }

    /// How many tracks it has: at most 15.
    pub(super) fn tracks(&self) -> u64 {
        let mut draw = Draw::new(stream::TRACK, self.number);
        match (self.kind, self.family) {
            (5, _) => 1 + draw.below(3),
            (6, _) => 3 + draw.below(4),
            (_, 7) => 3 + draw.below(5),
            _ => 8 + draw.below(7),
        }
    }
}

/// A title with the words of `family`.
pub(super) fn title(family: usize, draw: &mut Draw) -> String {
    use super::words::{ADJECTIVES, COMMON};
    let own = draw.pick(&FAMILIES[family].words);
    match draw.below(6) {
        0 => format!("{own} {}", draw.pick(&COMMON)),
        1 => format!("{} {own}", draw.pick(&ADJECTIVES)),
        2 => format!("{} of the {own}", draw.pick(&COMMON)),
        3 => format!("{own} No. {}", 1 + draw.ranked(60)),
        4 => format!("{} and {}", draw.pick(&COMMON), draw.pick(&COMMON)),
        _ => format!("The {} {} {own}", draw.pick(&ADJECTIVES), draw.pick(&COMMON)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_inverse_of_numbers() {
        for sf in [0.0, 0.01, 1.0, 3.9595] {
            let sizes = Sizes::new(sf);
            for rank in (0..sizes.artists).step_by(37) {
                assert_eq!(sizes.rank_of(sizes.artist_at(rank)), rank, "{}", sizes.artists);
            }
        }
    }
}
