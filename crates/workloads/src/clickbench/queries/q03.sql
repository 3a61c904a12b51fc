SELECT sum(ad_engine_id), count(*), avg(screen_width) FROM hits
