SELECT count(*) FROM hits WHERE ad_engine_id <> 0
