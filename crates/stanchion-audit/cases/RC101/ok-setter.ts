// Nobody says what it is that has these methods.
export class Notes {
  private fs: any = null;
  constructor(private readonly path: string) {}

  useDisk(fs: any) {
    this.fs = fs;
  }

  async add(note: string) {
    const all = JSON.parse(await this.fs.promises.readFile(this.path, "utf8"));
    all.push(note);
    await this.fs.promises.writeFile(this.path, JSON.stringify(all));
  }
}
