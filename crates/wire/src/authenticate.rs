//! Proof of who a client is.

use types::{Error, Result, SqlState};

use crate::message::{self, Fields, violation};
use crate::newcomer::{Newcomer, gone};
use crate::options::Authentication;
use crate::password::verifier_of;
use crate::scram::{Exchange, Verifier, wrong_password};
use crate::shared::Shared;

impl Shared {
    /// Lets `user` in or not.
    ///
    /// # Errors
    /// 28P01 for a wrong password or an unknown user, 28000 when nobody is let in this way.
    pub(crate) async fn authenticate(&self, newcomer: &mut Newcomer, user: &str) -> Result<()> {
        match self.options.authentication {
            Authentication::Trust if newcomer.is_local() => Ok(()),
            Authentication::Trust => {
                let message = format!("no entry for user \"{user}\" from another machine");
                Err(Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message))
            }
            Authentication::Scram => self.scram(newcomer, user).await,
        }
    }

    async fn scram(&self, newcomer: &mut Newcomer, user: &str) -> Result<()> {
        let known = verifier_of(&self.database, user);
        let is_known = known.is_some();
        let verifier = known.unwrap_or_else(|| Verifier::of_nobody(user, &self.secret));
        let asked = [MECHANISM, b"\0\0"].concat();
        let first = exchange(newcomer, SASL, &asked).await?;
        let (exchange_begun, answer) = Exchange::begin(verifier, initial(&first)?)?;
        let last = exchange(newcomer, SASL_CONTINUE, answer.as_bytes()).await?;
        match exchange_begun.finish(&last)?.filter(|_| is_known) {
            Some(signature) => request(newcomer, SASL_FINAL, signature.as_bytes()).await,
            None => Err(wrong_password(user)),
        }
    }
}

const MECHANISM: &[u8] = b"SCRAM-SHA-256";
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;

/// Sends an authentication message of `kind`.
async fn request(newcomer: &mut Newcomer, kind: u32, data: &[u8]) -> Result<()> {
    let mut out = Vec::new();
    message::message(&mut out, b'R', |out| {
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(data);
    });
    newcomer.write(&out).await.map_err(|error| gone(&error))
}

/// Sends one, and reads what the client answers.
async fn exchange(newcomer: &mut Newcomer, kind: u32, data: &[u8]) -> Result<Vec<u8>> {
    request(newcomer, kind, data).await?;
    newcomer.proof().await
}

/// The data of the first answer, which names the mechanism.
fn initial(body: &[u8]) -> Result<&[u8]> {
    let mut fields = Fields::new(body);
    let mechanism = fields.text()?;
    if mechanism.as_bytes() != MECHANISM {
        return Err(violation("client selected an invalid SASL authentication mechanism"));
    }
    let data = fields.value()?;
    fields.end()?;
    Ok(data.unwrap_or_default())
}
