//! What probes are made from: the program once more, when somebody asks for the first of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::handler::{self, Handler};
use crate::audit::threads;
use crate::engine::Engine;
use crate::frontend::{Dialect, lower};
use crate::models::Models;
use crate::program::{Program, Source};
use crate::walk;

/// Texts and models of a run, and its handlers once they were needed.
pub(crate) struct Ground {
    models: Models,
    pub(super) settings: BTreeMap<String, Arc<str>>,
    pub(super) texts: BTreeMap<String, Arc<str>>,
    handlers: OnceLock<Vec<Handler>>,
}

impl fmt::Debug for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ground").field("settings", &self.settings.keys()).finish_non_exhaustive()
    }
}

impl Ground {
    pub(crate) fn new(models: Models, settings: &[walk::Source], texts: &BTreeMap<String, Arc<str>>) -> Self {
        let settings = settings.iter().map(|file| (file.path.clone(), file.text.as_str().into())).collect();
        Self { models, settings, texts: texts.clone(), handlers: OnceLock::new() }
    }

    /// All tools and routes, in order.
    pub(super) fn handlers(&self) -> &[Handler] {
        self.handlers.get_or_init(|| threads().map_or_else(|_| Vec::new(), |pool| pool.install(|| self.look())))
    }

    fn look(&self) -> Vec<Handler> {
        let files: Vec<(&String, &Arc<str>)> = self.texts.iter().collect();
        let lowered = files.into_par_iter().filter_map(|(path, text)| {
            let module = lower(Dialect::of(path)?, text)?;
            Some(Source { path: path.clone(), module })
        });
        let settings: Vec<(&str, &str)> = self.settings.iter().map(|(path, text)| (path.as_str(), &**text)).collect();
        let program = Program::new(lowered.collect(), &settings);
        let listed = handler::listed(&program);
        let each = (0..program.len()).into_par_iter().map(|file| {
            let mut found = Vec::new();
            Engine::new(&program, &self.models, file..file + 1)
                .run(file, &mut |trace| found.extend(handler::of(&program, &trace, &listed)));
            found
        });
        each.collect::<Vec<_>>().into_iter().flatten().collect()
    }
}
