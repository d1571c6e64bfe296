//! Less usual names for what other libraries, or other functions of the same one, do as well.

use super::{Table, check};

#[test]
fn files_and_stores() {
    const TABLE: Table = &[
        (
            "xml",
            "package p\nimport (\"encoding/xml\"; \"os\")\nfunc F(x string) {\n f, _ := os.Open(\"a.xml\")\n var items []string\n xml.NewDecoder(f).Decode(&items)\n g, _ := os.Create(\"a.xml\")\n xml.NewEncoder(g).Encode(append(items, x))\n}",
            &[("RC101", 6, 8)],
        ),
        (
            "workbook",
            "package p\nimport \"github.com/xuri/excelize/v2\"\nfunc F(x string) {\n f, _ := excelize.OpenFile(\"a.xlsx\")\n f.SetCellValue(\"s\", \"A1\", x)\n f.SaveAs(\"a.xlsx\")\n}",
            &[("RC101", 4, 6)],
        ),
        (
            "workbook, to another",
            "package p\nimport \"github.com/xuri/excelize/v2\"\nfunc F(x string) {\n f, _ := excelize.OpenFile(\"a.xlsx\")\n f.SetCellValue(\"s\", \"A1\", x)\n f.SaveAs(\"b.xlsx\")\n}",
            &[],
        ),
        (
            "redis list element",
            "package p\nimport (\"context\"; \"strconv\"; \"github.com/redis/go-redis/v9\")\nfunc F(ctx context.Context, r *redis.Client) {\n s, _ := r.LIndex(ctx, \"k\", 0).Result()\n n, _ := strconv.Atoi(s)\n r.LSet(ctx, \"k\", 0, n+1)\n}",
            &[("RC103", 4, 6)],
        ),
        (
            "redis pop",
            "package p\nimport (\"context\"; \"github.com/redis/go-redis/v9\")\nfunc F(ctx context.Context, r *redis.Client) {\n n, _ := r.ZCard(ctx, \"k\").Result()\n r.ZPopMin(ctx, \"k\", n)\n}",
            &[],
        ),
        (
            "badger, in two transactions",
            "package p\nimport \"github.com/dgraph-io/badger/v4\"\nfunc F(db *badger.DB, key []byte) {\n var old []byte\n db.View(func(txn *badger.Txn) error {\n  item, _ := txn.Get(key)\n  old, _ = item.ValueCopy(nil)\n  return nil\n })\n db.Update(func(txn *badger.Txn) error {\n  return txn.Set(key, append(old, 1))\n })\n}",
            &[("RC103", 6, 11)],
        ),
        (
            "bbolt, in one transaction",
            "package p\nimport \"go.etcd.io/bbolt\"\nfunc F(db *bbolt.DB, key []byte) {\n db.Update(func(tx *bbolt.Tx) error {\n  b := tx.Bucket([]byte(\"t\"))\n  return b.Put(key, append(b.Get(key), 1))\n })\n}",
            &[],
        ),
    ];
    check("a.go", TABLE);
}
