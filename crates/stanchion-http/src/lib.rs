#![doc = include_str!("../README.md")]

mod body;
pub mod key;
pub mod layer;
pub mod problem;
pub mod proxy;
mod template;
pub mod webhook;

pub use body::{Body, BoxError};
pub use template::KeyTemplate;
