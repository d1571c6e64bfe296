//! From `sqlparser`'s tree to a [`Statement`].

mod filter;
mod write;

use sqlparser::ast::{
    self, Expr, LimitClause, ObjectName, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins,
};

use super::expr::{self, atoms, operand};
use super::scan::is_aggregate;
use super::token::Token;
use super::{Operand, Statement, Verb};

/// Deeper queries and expressions are not looked into.
const MAX_DEPTH: usize = 400;
/// Further inserted rows are left out.
const MAX_ROWS: usize = 16;

/// The statement, after those that stand in its `WITH` and write.
pub(super) fn read(tokens: &[Token], parsed: &ast::Statement) -> Vec<Statement> {
    let mut reader = Reader { tokens, named: Vec::new(), writes: Vec::new(), inserts: false, depth: 0 };
    let mut found = reader.statement(parsed);
    found.tables.retain(|table| !reader.named.contains(table));
    let mut all = std::mem::take(&mut reader.writes);
    for write in &mut all {
        write.tables.retain(|table| !reader.named.contains(table));
    }
    // `WITH moved AS (DELETE …) SELECT * FROM moved` does nothing more than the DELETE.
    if all.is_empty() || found.verb != Verb::Select || !found.tables.is_empty() {
        all.push(found);
    }
    all
}

struct Reader<'a> {
    tokens: &'a [Token],
    /// Names that `WITH` gives.
    named: Vec<String>,
    writes: Vec<Statement>,
    /// Reading what an insert selects: there `NOT EXISTS` guards the insert.
    inserts: bool,
    depth: usize,
}

impl Reader<'_> {
    fn statement(&mut self, parsed: &ast::Statement) -> Statement {
        let mut found = Statement::default();
        match parsed {
            ast::Statement::Query(query) => {
                found.verb = Verb::Select;
                self.query(query, &mut found, true);
            }
            ast::Statement::Insert(insert) => self.insert(insert, &mut found),
            ast::Statement::Update(update) => self.update(update, &mut found),
            ast::Statement::Delete(delete) => self.delete(delete, &mut found),
            ast::Statement::Merge(merge) => self.merge(merge, &mut found),
            _ => {}
        }
        found
    }

    fn query(&mut self, query: &Query, found: &mut Statement, top: bool) {
        if self.depth > MAX_DEPTH {
            return;
        }
        self.depth += 1;
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.named.push(expr::name(self.tokens, &cte.alias.name));
            if let Some(write) = write_of(&cte.query) {
                let write = self.statement(write);
                self.writes.push(write);
            } else {
                self.query(&cte.query, found, false);
            }
        }
        self.body(&query.body, found, top);
        if top && found.limit.is_none() {
            let limit = match &query.limit_clause {
                Some(LimitClause::LimitOffset { limit, .. }) => limit.as_ref(),
                Some(LimitClause::OffsetCommaLimit { limit, .. }) => Some(limit),
                None => query.fetch.as_ref().and_then(|fetch| fetch.quantity.as_ref()),
            };
            found.limit = limit.map(|limit| operand(self.tokens, limit));
        }
        self.depth -= 1;
    }

    fn body(&mut self, body: &SetExpr, found: &mut Statement, top: bool) {
        match body {
            SetExpr::Select(select) => self.select(select, found, top),
            SetExpr::Query(query) => self.query(query, found, top),
            SetExpr::SetOperation { left, right, .. } if self.depth < MAX_DEPTH => {
                self.depth += 1;
                self.body(left, found, top);
                self.body(right, found, false);
                self.depth -= 1;
                found.filter_other = true;
            }
            SetExpr::Insert(write) | SetExpr::Update(write) | SetExpr::Delete(write) | SetExpr::Merge(write) => {
                let read = std::mem::take(found);
                *found = self.statement(write);
                found.aggregates.extend(read.aggregates);
                for table in read.tables {
                    push(&mut found.tables, table);
                }
            }
            _ => {}
        }
    }

    fn select(&mut self, select: &Select, found: &mut Statement, top: bool) {
        for table in &select.from {
            self.table(table, found);
        }
        for item in &select.projection {
            if top {
                self.returned(item, found);
            }
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                self.inside(expr, found);
            }
        }
        if let Some(condition) = &select.selection {
            if top {
                self.filter(condition, found);
            } else {
                self.inside(condition, found);
            }
        }
        if top && let Some(ast::Top { quantity: Some(quantity), .. }) = &select.top {
            found.limit = Some(match quantity {
                ast::TopQuantity::Expr(expr) => operand(self.tokens, expr),
                ast::TopQuantity::Constant(number) => Operand::Literal(number.to_string()),
            });
        }
        if let Some(having) = &select.having {
            found.filter_other |= top;
            self.inside(having, found);
        }
    }

    fn returned(&self, item: &SelectItem, found: &mut Statement) {
        match item {
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => push(&mut found.columns, "*".to_owned()),
            SelectItem::UnnamedExpr(expr)
            | SelectItem::ExprWithAlias { expr, .. }
            | SelectItem::ExprWithAliases { expr, .. } => {
                for atom in atoms(self.tokens, expr) {
                    if let Operand::Column(name) = atom.operand {
                        push(&mut found.columns, name);
                    } else if let Some(name) = super::token::slot_name(&atom.operand).filter(|_| is_name(expr)) {
                        push(&mut found.columns, name);
                    }
                }
            }
        }
    }

    fn returning(&self, items: Option<&Vec<SelectItem>>, output: bool, found: &mut Statement) {
        found.returning = items.is_some() || output;
        for item in items.into_iter().flatten() {
            self.returned(item, found);
        }
    }

    fn table(&mut self, table: &TableWithJoins, found: &mut Statement) {
        self.factor(&table.relation, found);
        for join in &table.joins {
            self.factor(&join.relation, found);
        }
    }

    fn factor(&mut self, factor: &TableFactor, found: &mut Statement) {
        match factor {
            // With arguments it is a function.
            TableFactor::Table { name, args: None, .. } => push(&mut found.tables, self.object(name)),
            TableFactor::Derived { subquery, .. } => self.query(subquery, found, false),
            TableFactor::NestedJoin { table_with_joins, .. } if self.depth < MAX_DEPTH => {
                self.depth += 1;
                self.table(table_with_joins, found);
                self.depth -= 1;
            }
            _ => {}
        }
    }

    /// The last part of a name.
    fn object(&self, name: &ObjectName) -> String {
        let ident = name.0.last().and_then(|part| part.as_ident());
        ident.map_or_else(|| name.to_string().to_lowercase(), |ident| expr::name(self.tokens, ident))
    }

    /// Aggregates and tables of sub-selects in an expression.
    fn inside(&mut self, expr: &Expr, found: &mut Statement) {
        if self.depth > MAX_DEPTH {
            return;
        }
        self.depth += 1;
        match expr {
            Expr::Subquery(query) | Expr::Exists { subquery: query, .. } => self.query(query, found, false),
            Expr::InSubquery { expr, subquery, .. } => {
                self.inside(expr, found);
                self.query(subquery, found, false);
            }
            _ => {
                if let Expr::Function(function) = expr {
                    let name = self.object(&function.name);
                    if is_aggregate(&name) {
                        push(&mut found.aggregates, name);
                    }
                }
                for child in expr::children(expr).into_iter().flatten() {
                    self.inside(child, found);
                }
            }
        }
        self.depth -= 1;
    }
}

fn push(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn is_name(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

fn write_of(query: &Query) -> Option<&ast::Statement> {
    match &*query.body {
        SetExpr::Insert(write) | SetExpr::Update(write) | SetExpr::Delete(write) | SetExpr::Merge(write) => Some(write),
        _ => None,
    }
}
