select n_name, l_year, sum(amount) as sum_profit
from (select n_name, extract(year from o_entry_d) as l_year, ol_amount as amount
      from order_line
      join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
      join item on i_id = ol_i_id
      join stock on s_i_id = ol_i_id and s_w_id = ol_supply_w_id
      join supplier on su_suppkey = mod(s_w_id * s_i_id, 10000)
      join nation on n_nationkey = su_nationkey
      where i_data like '%BB') profit
group by n_name, l_year
order by n_name, l_year desc
