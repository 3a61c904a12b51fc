select sum(ol_amount) / 2.0 as avg_yearly
from order_line
join (select i_id, avg(ol_quantity) as a
      from item
      join order_line on ol_i_id = i_id
      where i_data like '%b'
      group by i_id) usual on usual.i_id = ol_i_id
where ol_quantity < usual.a
