SELECT min(pa.name) AS parent, min(lb.name) AS label, count(*) AS albums
FROM label pa, label lb, city pc, city lc, album al, album_info vi, info_type vt, release r,
    format f
WHERE lb.parent_id = pa.id
    AND pa.city_id = pc.id
    AND lb.city_id = lc.id
    AND al.label_id = lb.id
    AND vi.album_id = al.id
    AND vi.info_type_id = vt.id
    AND r.album_id = al.id
    AND r.format_id = f.id
    AND vt.name = 'votes'
    AND CAST(vi.info AS INTEGER) > 2000
    AND f.name IN ('download', 'stream')
    AND pc.population > 1000000
    AND lc.population < 500000
