const mongoose = require("mongoose");

const Seat = mongoose.model("Seat", new mongoose.Schema({ owner: String, uses: Number, settings: Object }));

exports.used = async (id) => {
  const seat = await Seat.findById(id);
  seat.uses = seat.uses + 1;
  await seat.save(); // expect: RC103 read=6
};

exports.take = async (id, who) => {
  const seat = await Seat.findById(id);
  if (seat.owner) throw new Error("taken");
  seat.owner = who;
  await seat.save(); // expect: RC103 read=12
};

exports.set = async (id, key, value) => {
  const seat = await Seat.findById(id);
  seat.settings[key] = value;
  seat.markModified("settings");
  await seat.save(); // expect: RC103 read=19
};
