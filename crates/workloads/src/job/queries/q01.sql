SELECT min(a.name) AS artist, min(al.title) AS album, count(*) AS releases
FROM country c, city ci, artist a, album al, genre g, release r, format f
WHERE ci.country_id = c.id
    AND a.city_id = ci.id
    AND al.artist_id = a.id
    AND al.genre_id = g.id
    AND r.album_id = al.id
    AND r.format_id = f.id
    AND c.name = 'France'
    AND g.family = 'jazz'
    AND f.name = 'vinyl'
    AND r.note IS NULL
