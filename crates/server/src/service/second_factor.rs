//! Something that the user has besides the password: codes that change every half minute (TOTP, RFC 6238), and recovery
//! codes for users who lost their phone.

use qrcode::QrCode;
use qrcode::render::svg;
use totp_rs::{Builder, Totp};
use uuid::Uuid;
use windlass_api::{ErrorCode, Presented, RecoveryCodes, SetUpTwoFactor, TwoFactorCode, TwoFactorSetup};
use windlass_store::sealed::TOTP_SECRET;
use windlass_store::second_factors::{self, SecondFactor};
use windlass_store::sessions;
use windlass_store::users::{self, User};

use crate::app::App;
use crate::auth::Login;
use crate::auth::limiter::Limit;
use crate::auth::token::{self, Token};
use crate::error::{Error, Result};
use crate::random;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::mails::{self, News};
use crate::service::tries::{count_try, prove_password};
use crate::service::work::Work;
use crate::vault::SealedCell;

const RECOVERY_CODES: usize = 10;
/// 160 bits, what authenticators expect.
const SECRET_BYTES: usize = 20;

/// Makes a secret and shows it, for the only time. Nothing is asked at login before a code has confirmed it.
pub async fn set_up(login: &Login, input: &SetUpTwoFactor) -> Result<TwoFactorSetup> {
    prove_password(login, "password", input.password.reveal()).await?;
    let (app, user_id) = (&login.app, login.caller.user.id);
    let secret: [u8; SECRET_BYTES] = random::bytes();
    let setup = show(&secret, &login.caller.user.email)?;
    let mut work = app.begin_own(&login.caller).await?;
    require_state(&mut work, user_id, false).await?;
    let id = app.new_id();
    let sealed_secret = app.vault.seal(&mut work, cell(id), &secret).await?;
    second_factors::put(&mut work, &SecondFactor { id, user_id, sealed_secret }, app.now()).await?;
    record(&mut work, &login.caller.actor(), user_id, "began to set up a second factor");
    work.commit().await?;
    Ok(setup)
}

/// Turns it on, once a code proves that the user's authenticator has the secret.
pub async fn confirm(login: &Login, input: &TwoFactorCode) -> Result<RecoveryCodes> {
    let user_id = login.caller.user.id;
    let mut work = login.app.begin_own(&login.caller).await?;
    require_state(&mut work, user_id, false).await?;
    if second_factors::of_user(&mut work, user_id).await?.is_none() {
        return Err(Error::new(ErrorCode::TwoFactorState, "Set up a second factor first."));
    }
    prove(&mut work, user_id, &input.code).await?;
    second_factors::set_enabled(&mut work, user_id, true, login.app.now()).await?;
    let codes = make_recovery_codes(&mut work, user_id).await?;
    // They began with a password alone.
    sessions::delete_others(&mut work, user_id, login.session_id).await?;
    let actor = login.caller.actor();
    mails::tell(&mut work, &login.caller.user, News::SecondFactorOn, &actor).await?;
    record(&mut work, &actor, user_id, "turned their second factor on");
    work.commit().await?;
    Ok(codes)
}

pub async fn disable(login: &Login, input: &TwoFactorCode) -> Result<()> {
    let user_id = login.caller.user.id;
    let mut work = login.app.begin_own(&login.caller).await?;
    require_state(&mut work, user_id, true).await?;
    prove(&mut work, user_id, &input.code).await?;
    turn_off(&mut work, user_id).await?;
    let actor = login.caller.actor();
    mails::tell(&mut work, &login.caller.user, News::SecondFactorOff, &actor).await?;
    record(&mut work, &actor, user_id, "turned their second factor off");
    work.commit().await?;
    Ok(())
}

/// A fresh set; those before it no longer work.
pub async fn renew_recovery_codes(login: &Login, input: &TwoFactorCode) -> Result<RecoveryCodes> {
    let user_id = login.caller.user.id;
    let mut work = login.app.begin_own(&login.caller).await?;
    require_state(&mut work, user_id, true).await?;
    prove(&mut work, user_id, &input.code).await?;
    let codes = make_recovery_codes(&mut work, user_id).await?;
    let actor = login.caller.actor();
    mails::tell(&mut work, &login.caller.user, News::RecoveryCodesRenewed, &actor).await?;
    record(&mut work, &actor, user_id, "renewed their recovery codes");
    work.commit().await?;
    Ok(codes)
}

/// The operator's help for a user who has lost both phone and recovery codes.
pub async fn disable_by_operator(app: &App, email: &str) -> Result<()> {
    let mut work = app.begin().await?;
    let found = users::by_email(&mut work, email).await?;
    let unknown = || Error::new(ErrorCode::NotFound, format!("email: no user is registered as {email}"));
    let user = found.ok_or_else(unknown)?.user;
    if !second_factors::hold_state(&mut work, user.id).await? {
        return Err(Error::new(ErrorCode::TwoFactorState, format!("{email} has no second factor")));
    }
    turn_off(&mut work, user.id).await?;
    mails::tell(&mut work, &user, News::SecondFactorOff, &Actor::Operator).await?;
    record(&mut work, &Actor::Operator, user.id, &format!("turned the second factor of {email} off"));
    work.commit().await?;
    Ok(())
}

/// After the password, at login and before what would give the account away: says how the second factor was proven, as the audit tells it.
pub async fn require(work: &mut Work<'_>, actor: &Actor, user: &User, code: Option<&Presented>) -> Result<String> {
    if !second_factors::hold_state(work, user.id).await? {
        return Ok(String::new());
    }
    let code = code.ok_or_else(|| {
        Error::new(
            ErrorCode::CodeRequired,
            "code: this account has a second factor. Send the code that your authenticator shows, or a recovery code.",
        )
    })?;
    match prove(work, user.id, code).await? {
        Proof::Code => Ok(" with a second factor".into()),
        Proof::RecoveryCode => {
            let left = second_factors::count_recovery_codes(work, user.id).await?;
            mails::tell(work, user, News::RecoveryCodeUsed { left }, actor).await?;
            Ok(format!(" with a recovery code; {left} are left"))
        }
    }
}

enum Proof {
    Code,
    RecoveryCode,
}

/// Uses the code up.
async fn prove(work: &mut Work<'_>, user_id: Uuid, code: &Presented) -> Result<Proof> {
    let code: String = code.reveal().chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    if code.len() != 6 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return prove_by_recovery_code(work, user_id, &code).await;
    }
    let app = work.app;
    // A million codes, of which three are right at any time, so guesses per hour are limited.
    let tries = tries_of(user_id);
    count_try(app, &tries, Limit::an_hour(app.config.code_attempts))?;
    let factor = second_factors::of_user(work, user_id).await?.ok_or_else(wrong)?;
    let secret = app.vault.open(cell(factor.id), &factor.sealed_secret).await?;
    let seconds = app.now().micros().unsigned_abs() / 1_000_000;
    let step = totp(&secret, "").check(&code, seconds).ok_or_else(wrong)?;
    if !second_factors::use_step(work, user_id, i64::try_from(step).unwrap_or(i64::MAX)).await? {
        return Err(Error::new(ErrorCode::InvalidCode, "code: this code was used already. Wait for the next one."));
    }
    app.logins.forgive(&tries);
    Ok(Proof::Code)
}

fn tries_of(user_id: Uuid) -> String {
    format!("code of {user_id}")
}

/// None can be guessed, so only the general limits count.
async fn prove_by_recovery_code(work: &mut Work<'_>, user_id: Uuid, code: &str) -> Result<Proof> {
    let hash = token::hash(&code.to_ascii_lowercase());
    match second_factors::use_recovery_code(work, user_id, &hash).await? {
        true => Ok(Proof::RecoveryCode),
        false => Err(wrong()),
    }
}

fn wrong() -> Error {
    let message = "code: it is not right. Is the clock of your device right? A recovery code works once.";
    Error::new(ErrorCode::InvalidCode, message)
}

async fn make_recovery_codes(work: &mut Work<'_>, user_id: Uuid) -> Result<RecoveryCodes> {
    second_factors::delete_recovery_codes(work, user_id).await?;
    let mut recovery_codes = Vec::with_capacity(RECOVERY_CODES);
    for _ in 0..RECOVERY_CODES {
        let code = Token::recovery_code();
        second_factors::insert_recovery_code(work, user_id, &code.hash()).await?;
        let text = code.reveal();
        recovery_codes.push(format!("{}-{}-{}-{}", &text[..4], &text[4..8], &text[8..12], &text[12..16]));
    }
    Ok(RecoveryCodes { recovery_codes })
}

async fn require_state(work: &mut Work<'_>, user_id: Uuid, enabled: bool) -> Result<()> {
    let message = match second_factors::hold_state(work, user_id).await? {
        state if state == enabled => return Ok(()),
        true => "Your second factor is on already. Turn it off first.",
        false => "You have no second factor.",
    };
    Err(Error::new(ErrorCode::TwoFactorState, message))
}

async fn turn_off(work: &mut Work<'_>, user_id: Uuid) -> Result<()> {
    let now = work.app.now();
    // What was guessed at is gone.
    work.app.logins.forgive(&tries_of(user_id));
    second_factors::delete(work, user_id).await?;
    Ok(second_factors::set_enabled(work, user_id, false, now).await?)
}

fn show(secret: &[u8], email: &str) -> Result<TwoFactorSetup> {
    let totp = totp(secret, email);
    let otpauth_uri = totp.to_url().map_err(Error::internal)?;
    let picture = QrCode::new(&otpauth_uri).map_err(Error::internal)?;
    Ok(TwoFactorSetup {
        secret: totp_rs::Secret::from(secret).to_base32(),
        qr_svg: picture.render::<svg::Color<'_>>().min_dimensions(240, 240).build(),
        otpauth_uri,
    })
}

fn totp(secret: &[u8], email: &str) -> Totp {
    // A colon would end the account's name in the URI.
    let account = email.replace(':', "_");
    let builder = Builder::new().with_secret(secret).with_issuer(Some("Windlass")).with_account_name(account);
    // The compliant way only refuses secrets and names of a kind that cannot occur here.
    builder.build_noncompliant()
}

fn cell(id: Uuid) -> SealedCell {
    SealedCell { column: TOTP_SECRET, row: id }
}

fn record(work: &mut Work<'_>, actor: &Actor, user_id: Uuid, summary: &str) {
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: user_id,
        summary,
        details: &[("changed", "second factor")],
    };
    work.record(actor, &change);
}
