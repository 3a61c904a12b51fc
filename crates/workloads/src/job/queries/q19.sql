SELECT min(t1.title) AS title, count(*) AS pairs
FROM track t1, track t2, album al1, album al2, artist a1, artist a2, genre g, credit c1, role ro
WHERE t1.title = t2.title
    AND t1.id < t2.id
    AND t1.album_id = al1.id
    AND t2.album_id = al2.id
    AND al1.artist_id = a1.id
    AND al2.artist_id = a2.id
    AND al1.genre_id = g.id
    AND al2.genre_id = g.id
    AND a1.city_id = a2.city_id
    AND a1.id <> a2.id
    AND c1.track_id = t1.id
    AND c1.role_id = ro.id
    AND ro.name = 'singer'
    AND g.name = 'early country'
    AND (t1.seconds < 150 OR t2.seconds < 150)
