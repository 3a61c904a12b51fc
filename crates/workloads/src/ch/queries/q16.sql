select i_name, brand, i_price, count(distinct supp) as supplier_cnt
from (select i_name, substr(i_data, 1, 3) as brand, i_price, mod(s_w_id * s_i_id, 10000) as supp
      from stock
      join item on i_id = s_i_id
      where i_data not like 'zz%') offers
where supp not in (select su_suppkey from supplier where su_comment like '%bad%')
group by i_name, brand, i_price
order by supplier_cnt desc, i_name, brand, i_price
