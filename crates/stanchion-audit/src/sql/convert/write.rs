//! Statements that write.

use sqlparser::ast::{
    self, AssignmentTarget, Expr, FromTable, Insert, MergeAction, MergeInsertKind, MergeUpdateKind, OnConflictAction,
    OnInsert, SelectItem, SetExpr, SqliteOnConflict, TableFactor, TableObject, UpdateTableFromKind,
};

use super::{MAX_ROWS, Reader, push};
use crate::sql::expr::{self, atoms, bare, operand};
use crate::sql::token::Token;
use crate::sql::{Assignment, OnConflict, Operand, Statement, Verb};

impl Reader<'_> {
    pub(super) fn insert(&mut self, insert: &Insert, found: &mut Statement) {
        found.verb = Verb::Insert;
        if let TableObject::TableName(name) = &insert.table {
            found.tables.push(self.object(name));
        }
        let mut columns: Vec<String> = insert.columns.iter().map(|column| self.object(column)).collect();
        if let Some(query) = &insert.source {
            let mut select = Statement::default();
            let outer = std::mem::replace(&mut self.inserts, true);
            self.query(query, &mut select, true);
            self.inserts = outer;
            let mut own = Vec::new();
            self.rows(&query.body, &mut own);
            for at in 0..columns.len().max(own.len()) {
                let value = own.get(at).cloned().unwrap_or_else(|| Operand::Other(Vec::new()));
                found.insert.push((columns.get(at).cloned().unwrap_or_default(), value));
            }
            for table in select.tables {
                push(&mut found.tables, table);
            }
            found.aggregates = select.aggregates;
            found.filter = select.filter;
            found.filter_other = select.filter_other;
            found.not_exists = select.not_exists;
            found.limit = select.limit;
        }
        for assignment in &insert.assignments {
            columns.clear();
            if let AssignmentTarget::ColumnName(name) = &assignment.target {
                found.insert.push((self.object(name), operand(self.tokens, &assignment.value)));
            }
        }
        let own = own_names(found, insert.table_alias.as_ref().map(|alias| expr::name(self.tokens, &alias.alias)));
        let update = match &insert.on {
            Some(OnInsert::DuplicateKeyUpdate(update)) => Some(update),
            Some(OnInsert::OnConflict(conflict)) => match &conflict.action {
                OnConflictAction::DoNothing => {
                    found.on_conflict = OnConflict::DoNothing;
                    None
                }
                OnConflictAction::DoUpdate(update) => {
                    if let Some(condition) = &update.selection {
                        self.filter(condition, found);
                    }
                    Some(&update.assignments)
                }
            },
            _ => None,
        };
        let replaces = insert.replace_into || insert.or == Some(SqliteOnConflict::Replace);
        if update.is_some() || replaces {
            found.verb = Verb::Upsert;
            found.on_conflict = OnConflict::DoUpdate;
        } else if insert.ignore || insert.or == Some(SqliteOnConflict::Ignore) {
            found.on_conflict = OnConflict::DoNothing;
        }
        self.set(update.map_or(&[], |update| update.as_slice()), &own, found);
        self.returning(insert.returning.as_ref(), insert.output.is_some(), found);
    }

    /// One value per column; several rows become one value computed from all of them.
    pub(super) fn rows(&self, body: &SetExpr, out: &mut Vec<Operand>) {
        match body {
            SetExpr::Values(values) => {
                let mut rows = values.rows.iter().take(MAX_ROWS);
                out.extend(rows.next().into_iter().flat_map(|row| row.iter()).map(|value| operand(self.tokens, value)));
                for row in rows {
                    for (value, first) in row.iter().zip(out.iter_mut()) {
                        let next = operand(self.tokens, value);
                        match first {
                            Operand::Other(all) => all.push(next),
                            single => *single = Operand::Other(vec![single.clone(), next]),
                        }
                    }
                }
            }
            SetExpr::Select(select) => {
                for item in &select.projection {
                    out.push(match item {
                        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                            operand(self.tokens, expr)
                        }
                        _ => Operand::Other(Vec::new()),
                    });
                }
            }
            _ => {}
        }
    }

    pub(super) fn update(&mut self, update: &ast::Update, found: &mut Statement) {
        found.verb = Verb::Update;
        self.table(&update.table, found);
        let own = own_names(found, alias(self.tokens, &update.table.relation));
        if let Some(UpdateTableFromKind::AfterSet(from) | UpdateTableFromKind::BeforeSet(from)) = &update.from {
            let target = own.first().cloned();
            for table in from {
                // T-SQL names the table in FROM and only its alias behind UPDATE.
                if let (Some(name), TableFactor::Table { name: real, .. }) =
                    (alias(self.tokens, &table.relation), &table.relation)
                    && Some(&name) == target.as_ref()
                {
                    found.tables = vec![self.object(real)];
                }
                self.table(table, found);
            }
        }
        self.set(&update.assignments, &own, found);
        if let Some(condition) = &update.selection {
            self.filter(condition, found);
        }
        found.limit = update.limit.as_ref().map(|limit| operand(self.tokens, limit));
        self.returning(update.returning.as_ref(), update.output.is_some(), found);
    }

    pub(super) fn delete(&mut self, delete: &ast::Delete, found: &mut Statement) {
        found.verb = Verb::Delete;
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        for table in from.iter().chain(delete.using.iter().flatten()) {
            self.table(table, found);
        }
        if let Some(condition) = &delete.selection {
            self.filter(condition, found);
        }
        found.limit = delete.limit.as_ref().map(|limit| operand(self.tokens, limit));
        self.returning(delete.returning.as_ref(), delete.output.is_some(), found);
    }

    pub(super) fn merge(&mut self, merge: &ast::Merge, found: &mut Statement) {
        found.verb = Verb::Merge;
        self.factor(&merge.table, found);
        let own = own_names(found, alias(self.tokens, &merge.table));
        self.factor(&merge.source, found);
        self.filter(&merge.on, found);
        for clause in &merge.clauses {
            match &clause.action {
                MergeAction::Update(update) => {
                    found.on_conflict = OnConflict::DoUpdate;
                    if let MergeUpdateKind::Set(assignments) = &update.kind {
                        self.set(assignments, &own, found);
                    }
                }
                MergeAction::Insert(insert) => {
                    if let MergeInsertKind::Values(values) = &insert.kind {
                        let row = values.rows.first().into_iter().flat_map(|row| row.iter());
                        for (name, value) in insert.columns.iter().zip(row) {
                            found.insert.push((self.object(name), operand(self.tokens, value)));
                        }
                    }
                }
                _ => {}
            }
        }
        found.returning = merge.output.is_some();
    }

    pub(super) fn set(&mut self, assignments: &[ast::Assignment], own: &[String], found: &mut Statement) {
        for assignment in assignments {
            let values: Vec<(String, &Expr)> = match (&assignment.target, bare(&assignment.value)) {
                (AssignmentTarget::ColumnName(name), value) => vec![(self.object(name), value)],
                (AssignmentTarget::Tuple(names), Expr::Tuple(values)) => {
                    names.iter().map(|name| self.object(name)).zip(values).collect()
                }
                (AssignmentTarget::Tuple(names), value) => {
                    names.iter().map(|name| (self.object(name), value)).collect()
                }
            };
            for (column, value) in values {
                self.inside(value, found);
                let relative = atoms(self.tokens, value).iter().any(|atom| {
                    matches!(atom.operand, Operand::Column(_))
                        && !atom.nested
                        && !self.is_inserted(value)
                        && atom.qualifier.as_ref().is_none_or(|qualifier| own.contains(qualifier))
                });
                let operand = self.inserted(value, found).unwrap_or_else(|| operand(self.tokens, value));
                found.set.push(Assignment { column, operand, relative });
            }
        }
    }

    /// MySQL's `VALUES(column)`.
    pub(super) fn is_inserted(&self, value: &Expr) -> bool {
        matches!(bare(value), Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("values"))
    }

    /// What was to be inserted, for `excluded.column` and `VALUES(column)`.
    pub(super) fn inserted(&self, value: &Expr, found: &Statement) -> Option<Operand> {
        let excluded = match bare(value) {
            Expr::CompoundIdentifier(path) => {
                matches!(path.as_slice(), [table, _] if matches!(table.value.to_ascii_lowercase().as_str(), "excluded" | "new"))
            }
            other => self.is_inserted(other),
        };
        let name = match atoms(self.tokens, value).into_iter().next()?.operand {
            Operand::Column(name) if excluded => name,
            _ => return None,
        };
        found.insert.iter().find(|(column, _)| *column == name).map(|(_, operand)| operand.clone())
    }
}

fn alias(tokens: &[Token], factor: &TableFactor) -> Option<String> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. } => Some(expr::name(tokens, &alias.name)),
        _ => None,
    }
}

/// Names under which a statement speaks of the row it writes.
fn own_names(found: &Statement, alias: Option<String>) -> Vec<String> {
    found.tables.first().cloned().into_iter().chain(alias).collect()
}
