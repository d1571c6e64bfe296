use super::{Table, check};

mod spellings;

#[test]
fn files_databases_keys_and_handlers() {
    const TABLE: Table = &[
        (
            "os",
            "package p\nimport (\"encoding/json\"; \"os\")\nfunc F(x string) {\n data, _ := os.ReadFile(\"a.json\")\n var items []string\n json.Unmarshal(data, &items)\n items = append(items, x)\n out, _ := json.Marshal(items)\n os.WriteFile(\"a.json\", out, 0644)\n}",
            &[("RC101", 4, 9)],
        ),
        (
            "decoder",
            "package p\nimport (\"encoding/json\"; \"os\")\nfunc F(x string) {\n f, _ := os.Open(\"a.json\")\n var items []string\n json.NewDecoder(f).Decode(&items)\n g, _ := os.Create(\"a.json\")\n json.NewEncoder(g).Encode(append(items, x))\n}",
            &[("RC101", 6, 8)],
        ),
        (
            "flock",
            "package p\nimport (\"os\"; \"github.com/gofrs/flock\")\nfunc F(x string) {\n l := flock.New(\"a.lock\")\n l.Lock()\n defer l.Unlock()\n data, _ := os.ReadFile(\"a\")\n os.WriteFile(\"a\", append(data, x...), 0644)\n}",
            &[],
        ),
        (
            "mutex",
            "package p\nimport (\"os\"; \"sync\")\nvar mu sync.Mutex\nfunc F(x string) {\n mu.Lock()\n defer mu.Unlock()\n data, _ := os.ReadFile(\"a\")\n os.WriteFile(\"a\", append(data, x...), 0644)\n}",
            &[("RC201", 7, 8)],
        ),
        (
            "database/sql",
            "package p\nimport \"database/sql\"\nfunc F(db *sql.DB, id int) {\n var n int\n db.QueryRow(\"SELECT n FROM t WHERE id = ?\", id).Scan(&n)\n db.Exec(\"UPDATE t SET n = ? WHERE id = ?\", n+1, id)\n}",
            &[("RC102", 5, 6)],
        ),
        (
            "for update",
            "package p\nimport (\"context\"; \"database/sql\")\nfunc F(ctx context.Context, db *sql.DB, id int) {\n tx, _ := db.BeginTx(ctx, nil)\n defer tx.Rollback()\n var n int\n tx.QueryRowContext(ctx, \"SELECT n FROM t WHERE id = $1 FOR UPDATE\", id).Scan(&n)\n tx.ExecContext(ctx, \"UPDATE t SET n = $1 WHERE id = $2\", n+1, id)\n tx.Commit()\n}",
            &[],
        ),
        (
            "pgx",
            "package p\nimport (\"context\"; \"github.com/jackc/pgx/v5/pgxpool\")\nfunc F(ctx context.Context, db *pgxpool.Pool, id int) {\n var n int\n db.QueryRow(ctx, \"SELECT n FROM t WHERE id = $1\", id).Scan(&n)\n db.Exec(ctx, \"UPDATE t SET n = $1 WHERE id = $2\", n+1, id)\n}",
            &[("RC102", 5, 6)],
        ),
        (
            "gorm",
            "package p\nimport \"gorm.io/gorm\"\nfunc F(db *gorm.DB, id int) {\n var u User\n db.First(&u, id)\n u.N = u.N + 1\n db.Save(&u)\n}",
            &[("RC102", 5, 7)],
        ),
        (
            "redis",
            "package p\nimport (\"context\"; \"github.com/redis/go-redis/v9\")\nfunc F(ctx context.Context, r *redis.Client, k string) {\n n, _ := r.Get(ctx, k).Int()\n r.Set(ctx, k, n+1, 0)\n}",
            &[("RC103", 4, 5)],
        ),
        (
            "redis incr",
            "package p\nimport (\"context\"; \"github.com/redis/go-redis/v9\")\nfunc F(ctx context.Context, r *redis.Client, k string) {\n r.Incr(ctx, k)\n}",
            &[],
        ),
        (
            "mcp-go",
            "package p\nimport (\"context\"; \"os\"; \"github.com/mark3labs/mcp-go/server\")\nfunc main() {\n s := server.NewMCPServer(\"a\", \"1\")\n s.AddTool(tool, func(ctx context.Context, r Request) (any, error) {\n  data, _ := os.ReadFile(\"a\")\n  os.WriteFile(\"a\", append(data, 'x'), 0644)\n  return nil, nil\n })\n}",
            &[("RC101", 6, 7)],
        ),
    ];
    check("a.go", TABLE);
}

#[test]
fn errors_are_results() {
    const TABLE: Table = &[
        (
            "tried again until there is no error",
            "package a\nimport \"net/http\"\nfunc F(u string) error {\n\tfor i := 0; i < 3; i++ {\n\t\tres, err := http.Post(u, \"\", nil)\n\t\tif err != nil {\n\t\t\tcontinue\n\t\t}\n\t\treturn res.Body.Close()\n\t}\n\treturn nil\n}\n",
            &[("RC402", 0, 5), ("RC403", 0, 5)],
        ),
        (
            "the first error ends it",
            "package a\nimport \"net/http\"\nfunc F(all []string) error {\n\tfor i := 0; i < 3; i++ {\n\t\t_, err := http.Post(all[i], \"\", nil)\n\t\tif err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n\treturn nil\n}\n",
            &[],
        ),
    ];
    check("a.go", TABLE);
}
