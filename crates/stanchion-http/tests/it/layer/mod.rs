//! The layer under axum, over real connections.

mod answers;
mod bad_input;
mod bodies;
mod disconnect;
mod draft;
mod killed;
mod late;
mod left;
mod locks;
mod once;
mod unrecorded;
