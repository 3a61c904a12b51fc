SELECT count(*) AS pairs, min(b1.name) AS band, min(p.name) AS player
FROM membership m1, membership m2, artist b1, artist b2, artist p, album al1, album al2, genre g1,
    genre g2
WHERE m1.artist_id = p.id
    AND m2.artist_id = p.id
    AND m1.band_id = b1.id
    AND m2.band_id = b2.id
    AND b1.id < b2.id
    AND al1.artist_id = b1.id
    AND al2.artist_id = b2.id
    AND al1.year = al2.year
    AND al1.genre_id = g1.id
    AND al2.genre_id = g2.id
    AND g1.family = 'folk'
    AND g2.family = 'soul'
    AND m1.last_year IS NULL
