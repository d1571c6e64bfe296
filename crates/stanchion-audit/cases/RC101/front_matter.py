# also: RC302
import frontmatter


def tag(path: str, word: str) -> None:
    note = frontmatter.load(path)
    note["tags"] = note["tags"] + [word]
    with open(path, "w") as file:
        file.write(frontmatter.dumps(note))  # expect: RC101 read=6
