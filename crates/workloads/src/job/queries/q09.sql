SELECT min(p1.name) AS first, min(p2.name) AS second, count(*) AS tracks
FROM credit x1, credit x2, role r1, role r2, artist p1, artist p2, track t, album al, genre g
WHERE x1.track_id = t.id
    AND x2.track_id = t.id
    AND x1.role_id = r1.id
    AND x2.role_id = r2.id
    AND x1.artist_id = p1.id
    AND x2.artist_id = p2.id
    AND t.album_id = al.id
    AND al.genre_id = g.id
    AND p1.city_id = p2.city_id
    AND p1.id < p2.id
    AND r1.name = 'drummer'
    AND r2.name = 'bassist'
    AND g.family IN ('rock', 'metal', 'jazz')
