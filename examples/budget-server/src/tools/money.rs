//! A transfer, checked, and the arithmetic that all four transfer tools share.

use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use stanchion_core::{Error, ErrorKind, Result};

use super::Call;

/// Move money from one budget to another.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Transfer {
    /// The budget that pays.
    pub(super) from: String,
    /// The budget that receives.
    pub(super) to: String,
    /// Whole cents, above zero.
    pub(super) amount: i64,
}

impl Transfer {
    pub(super) fn parse(call: &Call) -> Result<Self> {
        let transfer: Self = call.parse()?;
        name(&transfer.from)?;
        name(&transfer.to)?;
        amount(transfer.amount)?;
        if transfer.from == transfer.to {
            return Err(Error::new(ErrorKind::Invalid, "a budget cannot pay itself").with("budget", &transfer.from));
        }
        Ok(transfer)
    }

    /// The balances after the transfer.
    pub(super) fn apply(&self, from: i64, to: i64) -> Result<(i64, i64)> {
        if from < self.amount {
            return Err(insufficient(&self.from, from, self.amount));
        }
        let to = to.checked_add(self.amount).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, "this is more money than a budget can hold").with("budget", &self.to)
        })?;
        Ok((from - self.amount, to))
    }
}

pub(super) fn insufficient(budget: &str, balance: i64, amount: i64) -> Error {
    Error::new(ErrorKind::Invalid, "the balance does not suffice; nothing was moved")
        .with("budget", budget)
        .with("balance", balance)
        .with("amount", amount)
}

pub(super) fn unknown(budget: &str) -> Error {
    Error::new(ErrorKind::Invalid, "there is no such budget").with("budget", format_args!("{budget:?}"))
}

pub(super) fn amount(cents: i64) -> Result<()> {
    if cents > 0 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, "an amount is above zero").with("amount", cents))
}

/// A name of a budget, project, kind or customer.
pub(super) fn name(text: &str) -> Result<()> {
    let fits = !text.is_empty() && text.len() <= 100 && !text.chars().any(char::is_control);
    if fits {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Invalid, "a name has 1 to 100 bytes and no control characters").with("bytes", text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(amount: i64) -> Transfer {
        Transfer { from: "a".into(), to: "b".into(), amount }
    }

    #[test]
    fn money_is_neither_made_nor_lost_at_the_edges() {
        assert_eq!(transfer(7).apply(7, 0).unwrap(), (0, 7));
        assert!(transfer(8).apply(7, 0).is_err());
        assert!(transfer(1).apply(-5, 0).is_err());
        assert!(transfer(1).apply(i64::MAX, i64::MAX).is_err());
        assert_eq!(transfer(i64::MAX).apply(i64::MAX, 0).unwrap(), (0, i64::MAX));
    }
}
