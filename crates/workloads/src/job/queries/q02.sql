SELECT min(al.title) AS album, min(mi.info) AS mood, min(r.released) AS first_release
FROM album al, album_info mi, info_type mt, album_info ri, info_type rt, genre g, release r,
    country c
WHERE mi.album_id = al.id
    AND mi.info_type_id = mt.id
    AND ri.album_id = al.id
    AND ri.info_type_id = rt.id
    AND al.genre_id = g.id
    AND r.album_id = al.id
    AND r.country_id = c.id
    AND mt.name = 'mood'
    AND mi.info IN ('angry', 'dark')
    AND rt.name = 'rating'
    AND ri.info > '7.5'
    AND g.name LIKE '%metal'
    AND c.continent = 'Europe'
