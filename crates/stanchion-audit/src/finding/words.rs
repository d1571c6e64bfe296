//! The closed sets of words that a finding is described with.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$of])* $variant),+ }

        impl $name {
            /// All of them, in order.
            ///
            /// ```
            #[doc = concat!("assert!(stanchion_audit::finding::", stringify!($name), "::ALL.is_sorted());")]
            /// ```
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its word, as in all formats.
            ///
            /// ```
            #[doc = concat!("for word in stanchion_audit::finding::", stringify!($name), "::ALL {")]
            ///     assert_eq!(word.as_str().parse().as_ref(), Ok(word));
            /// }
            /// ```
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = crate::error::Error;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|it| it.as_str() == word).ok_or_else(|| {
                    let allowed: Vec<_> = Self::ALL.iter().map(|it| it.as_str()).collect();
                    crate::error::Error::new(format!("`{word}` is not allowed here"))
                        .hint(format!("allowed: {}", allowed.join(", ")))
                })
            }
        }
    };
}

words! {
    /// How bad it is if it happens.
    ///
    /// ```
    /// use stanchion_audit::finding::Severity;
    /// assert!(Severity::Low < Severity::High);
    /// assert_eq!("medium".parse::<Severity>().unwrap().as_str(), "medium");
    /// ```
    Severity {
        /// A nuisance: a wasted try, a late answer.
        Low = "low",
        /// Wrong now and then, and visible.
        Medium = "medium",
        /// Acknowledged data is lost, or an effect happens twice.
        High = "high",
    }
}

words! {
    /// How sure the rule is.
    ///
    /// ```
    /// use stanchion_audit::finding::Confidence;
    /// assert!(Confidence::Medium < Confidence::High);
    /// ```
    Confidence {
        /// Something that decides was not seen.
        Low = "low",
        /// What decides was seen, but a name or a path was guessed.
        Medium = "medium",
        /// Everything that decides was seen.
        High = "high",
    }
}

words! {
    /// Who shares something, and whom a lock keeps out: each scope contains those before it.
    ///
    /// ```
    /// use stanchion_audit::finding::Scope;
    /// assert!(Scope::Task < Scope::Thread && Scope::Thread < Scope::Process);
    /// assert!(Scope::Process < Scope::Host && Scope::Host < Scope::Cluster);
    /// ```
    Scope {
        /// One task of an event loop.
        Task = "task",
        /// One thread.
        Thread = "thread",
        /// One process.
        Process = "process",
        /// All processes of one machine.
        Host = "host",
        /// All machines.
        Cluster = "cluster",
    }
}

words! {
    /// What a line has to do with the race.
    ///
    /// ```
    /// assert_eq!(stanchion_audit::finding::Role::Window.as_str(), "window");
    /// ```
    Role {
        /// Reads what is written later.
        Read = "read",
        /// Here somebody else can come between.
        Window = "window",
        /// Writes what somebody else may have changed.
        Write = "write",
        /// Takes or gives back a lock.
        Lock = "lock",
        /// Calls into the next step.
        Call = "call",
        /// Says how the program is run.
        Config = "config",
    }
}

words! {
    /// What the file is for.
    ///
    /// ```
    /// use stanchion_audit::finding::Surface;
    /// assert_eq!("test".parse::<Surface>().unwrap(), Surface::Test);
    /// ```
    Surface {
        /// What users run.
        Product = "product",
        /// A test.
        Test = "test",
        /// A script that a person starts.
        Script = "script",
        /// An example.
        Example = "example",
        /// Written by a program.
        Generated = "generated",
    }
}
