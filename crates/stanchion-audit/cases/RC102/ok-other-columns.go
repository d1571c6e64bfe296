package main

import (
	"database/sql"
	"net/http"
)

var db *sql.DB

// The path that was read says which size is written.
func measure(w http.ResponseWriter, r *http.Request) {
	var id, path string
	row := db.QueryRow("SELECT id, path FROM files WHERE id = $1", r.FormValue("id"))
	if err := row.Scan(&id, &path); err != nil {
		http.Error(w, err.Error(), 500)
		return
	}
	db.Exec("UPDATE files SET length = $1 WHERE id = $2", len(path), id)
}

func main() {
	http.HandleFunc("/measure", measure)
	http.ListenAndServe(":8080", nil)
}
