// deployment: cluster
import mongoose from "mongoose";

const userSchema = new mongoose.Schema({ email: { type: String, index: true }, name: { type: String, unique: true } });
userSchema.index({ email: 1 }, { unique: true, partialFilterExpression: { active: true } });
const User = mongoose.model("User", userSchema);

export async function register(email: string) {
  if (await User.exists({ email })) return false;
  await User.create({ email }); // expect: RC401 read=9
  return true;
}
