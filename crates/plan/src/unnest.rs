//! stub
use sql::algebra::Plan;
use types::Result;
use crate::context::Context;
/// stub
pub(crate) fn unnest(_context: &mut Context<'_>, _plan: &mut Plan) -> Result<()> { Ok(()) }
