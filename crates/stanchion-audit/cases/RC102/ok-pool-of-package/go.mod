module example.org/shows

go 1.22
