package main

import (
	"database/sql"
	"net/http"

	"example.org/shows/store"
)

func take(w http.ResponseWriter, r *http.Request) {
	store.Within(func(tx *sql.Tx) error {
		var left int
		if err := tx.QueryRow("SELECT places FROM shows WHERE id = $1 FOR UPDATE", r.FormValue("show")).Scan(&left); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE shows SET places = $1 WHERE id = $2", left-1, r.FormValue("show"))
		return err
	})
}

func main() {
	store.Open()
	http.HandleFunc("/take", take)
	http.ListenAndServe(":8080", nil)
}
