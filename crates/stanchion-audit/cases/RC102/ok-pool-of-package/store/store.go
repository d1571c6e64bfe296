package store

import "database/sql"

var Shows *sql.DB

func Open() (err error) {
	Shows, err = sql.Open("postgres", "")
	return
}

func Within(work func(*sql.Tx) error) error {
	tx, err := Shows.Begin()
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit()
}
