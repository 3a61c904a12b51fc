SELECT it1.name AS fact, count(*) AS facts, min(i1.info) AS least, max(i1.info) AS most
FROM album_info i1, info_type it1, album_info i2, info_type it2, album al, genre g, artist a,
    artist_info ai, info_type it3
WHERE i1.album_id = al.id
    AND i1.info_type_id = it1.id
    AND i2.album_id = al.id
    AND i2.info_type_id = it2.id
    AND al.genre_id = g.id
    AND al.artist_id = a.id
    AND ai.artist_id = a.id
    AND ai.info_type_id = it3.id
    AND it2.name = 'mood'
    AND i2.info IN ('epic', 'serene', 'solemn')
    AND it3.name = 'education'
    AND ai.info = 'conservatory'
    AND g.family = 'classical'
    AND i1.note IS NOT NULL
    AND it1.id <> it2.id
GROUP BY it1.name
ORDER BY fact
