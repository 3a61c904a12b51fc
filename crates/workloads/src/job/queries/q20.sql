SELECT c.name AS country, min(al.title) AS album, count(*) AS credits
FROM country c, city ci, artist a, credit cr, role ro, track t, album al, genre g, label lb,
    release r, format f, album_info ri, info_type rt
WHERE ci.country_id = c.id
    AND a.city_id = ci.id
    AND cr.artist_id = a.id
    AND cr.role_id = ro.id
    AND cr.track_id = t.id
    AND t.album_id = al.id
    AND al.genre_id = g.id
    AND al.label_id = lb.id
    AND r.album_id = al.id
    AND r.label_id = lb.id
    AND r.country_id = c.id
    AND r.format_id = f.id
    AND ri.album_id = al.id
    AND ri.info_type_id = rt.id
    AND ro.name = 'violinist'
    AND g.family IN ('folk', 'classical')
    AND f.name LIKE '%disc'
    AND rt.name = 'rating'
    AND ri.info BETWEEN '5.0' AND '8.9'
GROUP BY c.name
ORDER BY credits DESC, country
