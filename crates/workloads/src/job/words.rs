//! The dictionaries and word lists of the music tables.

/// Languages, and how names sound in them: first names, and the two halves of last names.
pub(crate) struct Language {
    pub(crate) name: &'static str,
    pub(crate) first: [&'static str; 8],
    pub(crate) stems: [&'static str; 8],
    pub(crate) endings: [&'static str; 6],
}

pub(crate) const LANGUAGES: [Language; 8] = [
    Language {
        name: "English",
        first: ["Alice", "George", "Mary", "Oliver", "Ruth", "Sam", "Emma", "Walter"],
        stems: ["Ash", "Black", "Green", "Hart", "King", "Wood", "Stan", "Mill"],
        endings: ["ford", "ley", "man", "well", "son", "er"],
    },
    Language {
        name: "Spanish",
        first: ["Lucia", "Diego", "Carmen", "Pablo", "Ines", "Javier", "Elena", "Mateo"],
        stems: ["Ro", "Marti", "Gonza", "Fer", "Alva", "Ji", "Mora", "Her"],
        endings: ["driguez", "nez", "lez", "nandez", "rez", "menez"],
    },
    Language {
        name: "French",
        first: ["Claire", "Luc", "Manon", "Henri", "Odette", "Pierre", "Simone", "Yves"],
        stems: ["Beau", "Du", "La", "Mont", "Char", "Gau", "Le", "Ville"],
        endings: ["mont", "pont", "clerc", "tier", "neuve", "bois"],
    },
    Language {
        name: "German",
        first: ["Anna", "Karl", "Greta", "Otto", "Ilse", "Jonas", "Klara", "Emil"],
        stems: ["Stein", "Berg", "Holz", "Wald", "Acker", "Vogel", "Rosen", "Krue"],
        endings: ["mann", "bach", "hauer", "feld", "ger", "meier"],
    },
    Language {
        name: "Portuguese",
        first: ["Ana", "Joao", "Beatriz", "Rui", "Helena", "Caio", "Marta", "Tiago"],
        stems: ["Sil", "Oli", "Fer", "Cos", "Bar", "Tei", "Mo", "Pe"],
        endings: ["veira", "va", "reira", "ta", "bosa", "xeira"],
    },
    Language {
        name: "Japanese",
        first: ["Yuki", "Haru", "Aiko", "Kenji", "Sora", "Mei", "Riku", "Naomi"],
        stems: ["Yama", "Taka", "Naka", "Ishi", "Mori", "Kawa", "Fuji", "Mura"],
        endings: ["moto", "da", "shita", "hashi", "mura", "ta"],
    },
    Language {
        name: "Swedish",
        first: ["Astrid", "Lars", "Freja", "Nils", "Saga", "Erik", "Maja", "Olle"],
        stems: ["Lind", "Berg", "Sjo", "Ek", "Nord", "Soder", "Ny", "Alm"],
        endings: ["strom", "qvist", "gren", "blad", "dahl", "lund"],
    },
    Language {
        name: "Italian",
        first: ["Chiara", "Marco", "Giulia", "Luca", "Sofia", "Pietro", "Rosa", "Enzo"],
        stems: ["Ros", "Bian", "Ferra", "Mar", "Gal", "Con", "Ric", "Bel"],
        endings: ["si", "chi", "ri", "ini", "lo", "etti"],
    },
];

/// Countries by how many artists are from there, their codes and languages.
pub(crate) const COUNTRIES: [(&str, &str, usize); 24] = [
    ("United States", "US", 0),
    ("United Kingdom", "GB", 0),
    ("Germany", "DE", 3),
    ("Japan", "JP", 5),
    ("France", "FR", 2),
    ("Brazil", "BR", 4),
    ("Italy", "IT", 7),
    ("Sweden", "SE", 6),
    ("Spain", "ES", 1),
    ("Canada", "CA", 0),
    ("Mexico", "MX", 1),
    ("Australia", "AU", 0),
    ("Argentina", "AR", 1),
    ("Austria", "AT", 3),
    ("Portugal", "PT", 4),
    ("Belgium", "BE", 2),
    ("Switzerland", "CH", 3),
    ("Ireland", "IE", 0),
    ("Chile", "CL", 1),
    ("Colombia", "CO", 1),
    ("Finland", "FI", 6),
    ("New Zealand", "NZ", 0),
    ("Angola", "AO", 4),
    ("Luxembourg", "LU", 2),
];

/// Continents in the order of the countries.
pub(crate) const CONTINENTS: [&str; 24] = [
    "North America",
    "Europe",
    "Europe",
    "Asia",
    "Europe",
    "South America",
    "Europe",
    "Europe",
    "Europe",
    "North America",
    "North America",
    "Oceania",
    "South America",
    "Europe",
    "Europe",
    "Europe",
    "Europe",
    "Europe",
    "South America",
    "South America",
    "Europe",
    "Oceania",
    "Africa",
    "Europe",
];

/// Artists are of the first four kinds, albums of the others.
pub(crate) const KINDS: [&str; 10] = [
    "person",
    "band",
    "orchestra",
    "choir",
    "album",
    "single",
    "extended play",
    "live recording",
    "compilation",
    "soundtrack",
];

pub(crate) const ROLES: [&str; 12] = [
    "singer",
    "guitarist",
    "bassist",
    "drummer",
    "pianist",
    "violinist",
    "producer",
    "engineer",
    "composer",
    "lyricist",
    "conductor",
    "guest",
];

/// Facts about artists, from [`ARTIST_FACTS`] on about albums.
pub(crate) const INFO_TYPES: [&str; 16] = [
    "birth place",
    "web site",
    "biography",
    "instrument",
    "real name",
    "debut",
    "education",
    "death date",
    "language",
    "rating",
    "votes",
    "studio",
    "mood",
    "chart position",
    "certification",
    "budget",
];

/// How many of [`INFO_TYPES`] are about artists.
pub(crate) const ARTIST_FACTS: usize = 8;

/// Carriers of sound, by age.
pub(crate) const FORMATS: [&str; 8] =
    ["shellac", "vinyl", "cassette", "compact disc", "mini disc", "download", "stream", "box set"];

pub(crate) const LINK_KINDS: [&str; 8] = [
    "follows",
    "remaster of",
    "live version of",
    "covers",
    "remix of",
    "samples",
    "tribute to",
    "translation of",
];

/// Families of genres, with their moods and the words of their titles.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) moods: [&'static str; 3],
    pub(crate) words: [&'static str; 8],
}

pub(crate) const FAMILIES: [Family; 12] = [
    Family {
        name: "pop",
        moods: ["happy", "romantic", "carefree"],
        words: ["Summer", "Dance", "Sugar", "Radio", "Kiss", "Neon", "Party", "Baby"],
    },
    Family {
        name: "rock",
        moods: ["rebellious", "energetic", "restless"],
        words: ["Road", "Thunder", "Engine", "Stone", "Rebel", "Highway", "Electric", "Riot"],
    },
    Family {
        name: "electronic",
        moods: ["hypnotic", "cold", "energetic"],
        words: ["Circuit", "Pulse", "Binary", "Signal", "Orbit", "Static", "Voltage", "Grid"],
    },
    Family {
        name: "hip hop",
        moods: ["confident", "angry", "playful"],
        words: ["Street", "Crown", "Hustle", "Block", "Cipher", "Gold", "Mic", "Corner"],
    },
    Family {
        name: "jazz",
        moods: ["relaxed", "sophisticated", "smoky"],
        words: ["Blue", "Midnight", "Quartet", "Swing", "Velvet", "Avenue", "Smoke", "Minor"],
    },
    Family {
        name: "folk",
        moods: ["nostalgic", "gentle", "earnest"],
        words: ["River", "Harvest", "Fiddle", "Valley", "Lantern", "Wool", "Ballad", "Barley"],
    },
    Family {
        name: "metal",
        moods: ["angry", "dark", "epic"],
        words: ["Iron", "Grave", "Ritual", "Wolf", "Crypt", "Ember", "Plague", "Throne"],
    },
    Family {
        name: "classical",
        moods: ["solemn", "epic", "serene"],
        words: ["Symphony", "Sonata", "Concerto", "Opus", "Nocturne", "Fugue", "Requiem", "Suite"],
    },
    Family {
        name: "latin",
        moods: ["passionate", "happy", "festive"],
        words: ["Fuego", "Luna", "Corazon", "Ritmo", "Calle", "Noche", "Playa", "Sol"],
    },
    Family {
        name: "soul",
        moods: ["passionate", "romantic", "relaxed"],
        words: ["Heart", "Mercy", "Honey", "Deep", "Tears", "Glory", "Tender", "Grace"],
    },
    Family {
        name: "country",
        moods: ["nostalgic", "earnest", "carefree"],
        words: ["Whiskey", "Dust", "Saddle", "Prairie", "Truck", "Porch", "Rodeo", "Boots"],
    },
    Family {
        name: "film",
        moods: ["epic", "tense", "serene"],
        words: ["Theme", "Chase", "Titles", "Escape", "Arrival", "Farewell", "Hero", "Reel"],
    },
];

/// Varieties of each family.
pub(crate) const VARIETIES: [&str; 5] =
    ["modern", "traditional", "progressive", "acoustic", "early"];

/// Words of any title.
pub(crate) const COMMON: [&str; 24] = [
    "Love", "Night", "Time", "World", "Dream", "Light", "Home", "Fire", "Rain", "Day", "Song",
    "City", "Sea", "Moon", "Star", "Winter", "Garden", "Letter", "Mirror", "Shadow", "Window",
    "Bird", "Train", "Silence",
];

pub(crate) const ADJECTIVES: [&str; 12] = [
    "Silent", "Golden", "Broken", "Wild", "Hollow", "Crimson", "Lonely", "Electric", "Northern",
    "Paper", "Distant", "Royal",
];

pub(crate) const NOUNS: [&str; 12] = [
    "Foxes",
    "Mountains",
    "Engines",
    "Sisters",
    "Harbors",
    "Orchards",
    "Ghosts",
    "Pilots",
    "Satellites",
    "Dragons",
    "Gardeners",
    "Machines",
];

pub(crate) const RELEASE_NOTES: [&str; 5] =
    ["(reissue)", "(promo)", "(limited edition)", "(remastered)", "(club edition)"];

pub(crate) const CREDIT_NOTES: [&str; 4] =
    ["(uncredited)", "(additional)", "(as guest)", "(archive recording)"];
