SELECT al1.title AS original, al2.title AS successor, lk.name AS link, a.name AS artist
FROM album al1, album_link l, album al2, link_kind lk, artist a, genre g, kind k
WHERE l.album_id = al2.id
    AND l.linked_id = al1.id
    AND l.link_kind_id = lk.id
    AND al1.artist_id = a.id
    AND al2.artist_id = a.id
    AND al1.genre_id = g.id
    AND al2.kind_id = k.id
    AND lk.name IN ('remaster of', 'live version of')
    AND g.family = 'rock'
    AND k.name <> 'compilation'
    AND al2.year > al1.year
ORDER BY al1.id, al2.id
LIMIT 50
