let loading: Promise<string> | undefined;

export async function config(): Promise<string> {
  if (loading) {
    return await loading;
  }
  loading = fetch("https://config.example").then((answer) => answer.text());
  return await loading;
}
