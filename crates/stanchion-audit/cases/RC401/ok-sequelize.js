// deployment: cluster
const { DataTypes, Model, Sequelize } = require("sequelize");

const sequelize = new Sequelize("postgres://db/app");

class User extends Model {}
User.init({ email: { type: DataTypes.STRING, unique: true } }, { sequelize });

const Seat = sequelize.define(
  "seat",
  { hall: DataTypes.STRING, number: DataTypes.INTEGER },
  { indexes: [{ unique: true, fields: ["hall", "number"] }] },
);

exports.register = async (email) => {
  if (await User.findOne({ where: { email } })) return false;
  await User.create({ email });
  return true;
};

exports.take = async (hall, number) => {
  if (await Seat.findOne({ where: { hall, number } })) return false;
  await Seat.create({ hall, number });
  return true;
};
