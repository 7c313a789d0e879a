//! The caller's second factor.

use windlass_api::{ErrorCode, RecoveryCodes, SetUpTwoFactor, TwoFactorCode, TwoFactorSetup};

use super::body::Payload;
use super::respond::{Answer, success};
use super::table::{Table, user};
use crate::auth::Login;
use crate::service::second_factor;

pub fn routes(table: Table) -> Table {
    use ErrorCode::{InvalidCode, TwoFactorState};
    table
        .post(
            "/auth/setup-2fa",
            set_up,
            user::<TwoFactorSetup>("Set up second factor").body::<SetUpTwoFactor>().errors(&[TwoFactorState]),
        )
        .post(
            "/auth/verify-2fa",
            confirm,
            user::<RecoveryCodes>("Confirm second factor")
                .body::<TwoFactorCode>()
                .errors(&[TwoFactorState, InvalidCode]),
        )
        .post(
            "/auth/disable-2fa",
            disable,
            user::<()>("Disable second factor").body::<TwoFactorCode>().errors(&[TwoFactorState, InvalidCode]),
        )
        .post(
            "/auth/recovery-codes",
            renew_recovery_codes,
            user::<RecoveryCodes>("Renew recovery codes")
                .body::<TwoFactorCode>()
                .errors(&[TwoFactorState, InvalidCode]),
        )
}

pub async fn set_up(login: Login, body: Payload) -> Answer {
    let input: SetUpTwoFactor = body.parse()?;
    let setup = second_factor::set_up(&login, &input).await?;
    success("Scan this with your authenticator and confirm with the code that it shows", setup)
}

pub async fn confirm(login: Login, body: Payload) -> Answer {
    let input: TwoFactorCode = body.parse()?;
    let codes = second_factor::confirm(&login, &input).await?;
    success(
        "The second factor is on and your other sessions have ended. Keep the recovery codes: they are shown only now",
        codes,
    )
}

pub async fn disable(login: Login, body: Payload) -> Answer {
    let input: TwoFactorCode = body.parse()?;
    second_factor::disable(&login, &input).await?;
    success("The second factor is off", ())
}

pub async fn renew_recovery_codes(login: Login, body: Payload) -> Answer {
    let input: TwoFactorCode = body.parse()?;
    let codes = second_factor::renew_recovery_codes(&login, &input).await?;
    success("New recovery codes; those before them no longer work", codes)
}
