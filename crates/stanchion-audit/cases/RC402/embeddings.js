// also: RC403
// A job is no question, and what a variable is called is no path.
import axios from "axios";

const base = "https://models.example/v2";

export async function start(files) {
  for (let i = 0; i < 3; i++) {
    try {
      return await axios.post(`${base}/embeddings/jobs`, { files }); // expect: RC402
    } catch {
      await new Promise((ok) => setTimeout(ok, 100 * 2 ** i));
    }
  }
}

export async function send(embeddings, files) {
  for (let i = 0; i < 3; i++) {
    try {
      return await axios.post(embeddings, { files }); // expect: RC402
    } catch {
      await new Promise((ok) => setTimeout(ok, 100 * 2 ** i));
    }
  }
}
