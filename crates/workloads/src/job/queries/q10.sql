SELECT g.family AS family, count(*) AS albums, min(al.year) AS since, max(al.year) AS until
FROM album al, genre g, album_info ci, info_type ct, album_info si, info_type st, artist a, kind k
WHERE al.genre_id = g.id
    AND ci.album_id = al.id
    AND ci.info_type_id = ct.id
    AND si.album_id = al.id
    AND si.info_type_id = st.id
    AND al.artist_id = a.id
    AND a.kind_id = k.id
    AND ct.name = 'certification'
    AND ci.info IN ('platinum', 'diamond')
    AND st.name = 'chart position'
    AND si.info IN ('1', '2', '3')
    AND k.name IN ('band', 'person')
GROUP BY g.family
ORDER BY albums DESC, family
