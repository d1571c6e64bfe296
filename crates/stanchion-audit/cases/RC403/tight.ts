export async function g3(url: string): Promise<Response> {
  let last: unknown;
  for (let i = 0; i < 10; i++) {
    try {
      return await fetch(url); // expect: RC403
    } catch (error) {
      last = error;
    }
  }
  throw last;
}
