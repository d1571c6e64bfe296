//! One client, and how a request is sent: once, unless it surely did not run.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    Builder, Credentials, ProvideCredentials as _, Region, SharedCredentialsProvider, SharedHttpClient,
    StalledStreamProtectionConfig,
};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use aws_smithy_http_client::tls;
use stanchion_core::{Error, ErrorKind, Result, RetryPolicy};

use super::date::{DateReader, EngineDate};
use super::fault::{Fault, reasons};
use super::options::Options;

pub(super) type Item = HashMap<String, AttributeValue>;

/// A conditional write's answer: the attributes that were asked for, or what stands where the condition did not hold
/// (`None`: the engine did not say).
pub(super) type Written = std::result::Result<Item, Option<Item>>;

/// Connections that wait for work; one is in use per request.
const IDLE_MOST: usize = 32;
/// Closed by us before a server does it: a write that meets a dying connection ends with its outcome unknown.
const IDLE_FOR: Duration = Duration::from_secs(20);

/// The way to the table.
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) options: Options,
    pub(super) date: EngineDate,
    /// Nobody but Amazon is known to keep what it acknowledged.
    pub(super) amazon: bool,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("store", &self.options.shown).finish_non_exhaustive()
    }
}

impl Link {
    pub(super) async fn new(options: Options) -> Result<Self> {
        let builder = aws_smithy_http_client::Builder::new();
        let builder = builder.pool_max_idle_per_host(IDLE_MOST).pool_idle_timeout(IDLE_FOR);
        // The chain may need TLS to get at credentials; without it and for an emulator there are no certificates to load.
        let plain = options.login.is_some() && options.endpoint.as_ref().is_some_and(|url| url.starts_with("http://"));
        let http = if plain {
            builder.build_http()
        } else {
            let ring = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
            builder.tls_provider(ring).build_https()
        };
        let config = config(&options, http).await?;
        let amazon = config.endpoint_url().is_none_or(of_amazon);
        // A write is sent once: the library must not repeat what may have run.
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(options.connect_timeout)
            .operation_attempt_timeout(options.timeout)
            .operation_timeout(options.timeout)
            .build();
        let config = Builder::from(&config)
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .interceptor(DateReader)
            .build();
        Ok(Self { client: Client::from_conf(config), options, date: EngineDate::default(), amazon })
    }

    pub(super) fn error(&self, fault: Fault, writes: bool) -> Error {
        fault.into_error(&self.options.shown, writes)
    }

    /// Sends until it is not refused for now any more; a lost answer is final.
    pub(super) async fn send<T, E, F>(&self, request: impl Fn() -> F) -> Result<T, Fault>
    where
        E: ProvideErrorMetadata + StdError + 'static,
        F: Future<Output = Result<T, SdkError<E>>>,
    {
        let mut tries = busy().deadline(self.options.timeout).start();
        loop {
            // Boxed: the library's futures are some 8 KB each.
            let fault = match self.date.during(Box::pin(request())).await {
                Ok(answer) => return Ok(answer),
                Err(error) => Fault::of(&error),
            };
            if !matches!(fault, Fault::Busy(_)) || !tries.again().await {
                return Err(fault);
            }
        }
    }

    /// As `send` for what has no effect: a lost answer is asked for once more.
    pub(super) async fn ask<T, E, F>(&self, request: impl Fn() -> F) -> Result<T, Fault>
    where
        E: ProvideErrorMetadata + StdError + 'static,
        F: Future<Output = Result<T, SdkError<E>>>,
    {
        match self.send(&request).await {
            Err(Fault::Lost(_)) => self.send(&request).await,
            answer => answer,
        }
    }

    /// A conditional write.
    pub(super) async fn update(&self, update: UpdateItemFluentBuilder) -> Result<Written, Fault> {
        let update = update
            .table_name(&self.options.table)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let request = || async {
            match update.clone().send().await {
                Ok(answer) => Ok(Ok(answer.attributes.unwrap_or_default())),
                Err(SdkError::ServiceError(refusal)) => match refusal.err() {
                    UpdateItemError::ConditionalCheckFailedException(stands) => Ok(Err(stands.item.clone())),
                    _ => Err(SdkError::ServiceError(refusal)),
                },
                Err(error) => Err(error),
            }
        };
        self.send(request).await
    }
}

/// Refusals for now are repeated this often, with growing pauses.
fn busy() -> RetryPolicy {
    let policy = RetryPolicy::default();
    policy.pauses(Duration::from_millis(20), Duration::from_secs(1)).unwrap_or(policy).budget(10)
}

/// With an access key in the URL nothing of the environment counts; else the usual chain does.
async fn config(options: &Options, http: SharedHttpClient) -> Result<SdkConfig> {
    let local = options.endpoint.as_ref().map(|_| "us-east-1".to_owned());
    if let Some(login) = &options.login {
        let region = options.region.clone().or(local).ok_or_else(|| no_region(options))?;
        let credentials =
            Credentials::new(&login.key_id, &login.secret, login.session_token.clone(), None, "store url");
        let mut config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .region(Region::new(region))
            .credentials_provider(SharedCredentialsProvider::new(credentials));
        config.set_endpoint_url(options.endpoint.clone());
        return Ok(config.build());
    }
    let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http);
    if let Some(endpoint) = &options.endpoint {
        loader = loader.endpoint_url(endpoint);
    }
    if let Some(profile) = &options.profile {
        loader = loader.profile_name(profile);
    }
    if let Some(region) = &options.region {
        loader = loader.region(Region::new(region.clone()));
    }
    let mut config = loader.load().await;
    if config.region().is_none() {
        let region = local.ok_or_else(|| no_region(options))?;
        config = config.into_builder().region(Region::new(region)).build();
    }
    // Asked for now, so that a missing key is a clear error and not a request that could not be signed.
    let found = match config.credentials_provider() {
        Some(provider) => provider.provide_credentials().await.map(drop).map_err(|e| reasons(&e)),
        None => Err("no provider".to_owned()),
    };
    found.map_err(|why| {
        Error::new(ErrorKind::Denied, "there are no AWS credentials")
            .with("store", &options.shown)
            .with("cause", why)
            .hint("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, give profile=NAME, or run with a role")
    })?;
    Ok(config)
}

fn no_region(options: &Options) -> Error {
    Error::new(ErrorKind::Invalid, "the region is not known")
        .with("store", &options.shown)
        .hint("give region=eu-central-1, or set AWS_REGION")
}

fn of_amazon(endpoint: &str) -> bool {
    let host = endpoint.split("://").nth(1).unwrap_or_default();
    let host = host.split(['/', ':']).next().unwrap_or_default();
    [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"].iter().any(|end| host.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulator_is_not_amazon() {
        assert!(of_amazon("https://dynamodb.eu-central-1.amazonaws.com"));
        assert!(of_amazon("https://vpce-1.dynamodb.eu-central-1.vpce.amazonaws.com:443/"));
        assert!(!of_amazon("http://127.0.0.1:8000"));
        assert!(!of_amazon("http://amazonaws.com.example.org/.amazonaws.com"));
    }
}
