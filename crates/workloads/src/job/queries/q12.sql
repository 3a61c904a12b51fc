SELECT min(a1.name) AS original, min(a2.name) AS again, min(al2.title) AS title
FROM album al1, album al2, album_link l, link_kind lk, artist a1, artist a2, city c1, city c2,
    country n1, country n2
WHERE l.album_id = al2.id
    AND l.linked_id = al1.id
    AND l.link_kind_id = lk.id
    AND al1.artist_id = a1.id
    AND al2.artist_id = a2.id
    AND a1.city_id = c1.id
    AND a2.city_id = c2.id
    AND c1.country_id = n1.id
    AND c2.country_id = n2.id
    AND n1.language = n2.language
    AND n1.id <> n2.id
    AND lk.name IN ('covers', 'remix of', 'samples', 'tribute to')
    AND a1.id <> a2.id
