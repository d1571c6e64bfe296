package main

import (
	"database/sql"
	"fmt"
	"strings"
)

func add(db *sql.DB, title string) error {
	rows, err := db.Query("SELECT title FROM notes")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var known string
		if err := rows.Scan(&known); err != nil {
			return err
		}
		if strings.EqualFold(known, title) {
			return fmt.Errorf("%s is there already", title)
		}
	}
	_, err = db.Exec("INSERT INTO notes (title) VALUES (?)", title) // expect: RC401 read=10
	return err
}
